package flowsim.differential;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.co.CoMapFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamGraphHasherV2;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.util.StringUtils;

/** The chains and operator ids that Flink makes of a job: nothing runs, only the job graph is made. */
public final class Chains {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Chains() {}

    /**
     * The names of the job vertices, and the slot sharing group and the id of each operator; operators are called n0, n1,
     * ... as they stand in the description.
     */
    public static String of(String description) throws Exception {
        JsonNode given = JSON.readTree(description);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        if (!given.get("chaining").asBoolean()) {
            env.disableOperatorChaining();
        }
        List<SingleOutputStreamOperator<Long>> made = new ArrayList<>();
        for (JsonNode node : given.get("operators")) {
            String name = "n" + made.size();
            if (node.get("kind").asText().equals("sink")) {
                sink(node, made, name);
                made.add(null);
            } else {
                made.add(operator(env, node, made, name));
            }
        }
        List<String> names = new ArrayList<>();
        StreamGraph graph = env.getStreamGraph();
        Map<String, String> groups = new HashMap<>();
        Map<String, String> ids = new HashMap<>();
        for (Map.Entry<Integer, byte[]> hash :
                new StreamGraphHasherV2().traverseStreamGraphAndGenerateHashes(graph).entrySet()) {
            ids.put(
                    graph.getStreamNode(hash.getKey()).getOperatorName(),
                    StringUtils.byteToHexString(hash.getValue()));
        }
        for (StreamNode node : graph.getStreamNodes()) {
            groups.put(node.getOperatorName(), node.getSlotSharingGroup());
        }
        for (JobVertex vertex : graph.getJobGraph().getVerticesSortedTopologicallyFromSources()) {
            names.add(vertex.getName());
            for (OperatorIDPair pair : vertex.getOperatorIDs()) {
                if (!ids.containsValue(pair.getGeneratedOperatorID().toString())) {
                    throw new IllegalStateException(vertex.getName() + " has another id: " + pair);
                }
            }
        }
        return JSON.writeValueAsString(Map.of("vertices", names, "groups", groups, "ids", ids));
    }

    private static SingleOutputStreamOperator<Long> operator(
            StreamExecutionEnvironment env,
            JsonNode node,
            List<SingleOutputStreamOperator<Long>> made,
            String name) {
        SingleOutputStreamOperator<Long> operator;
        switch (node.get("kind").asText()) {
            case "source":
                operator = env.fromSource(new NumberSequenceSource(1, 9), WatermarkStrategy.noWatermarks(), name);
                break;
            case "legacy":
                operator = env.addSource(new Nothing(), name);
                break;
            case "async":
                operator = AsyncDataStream.unorderedWait(input(node, made), new Same(), 1, TimeUnit.SECONDS).name(name);
                break;
            case "connect":
                operator = one(node, made, 0).connect(one(node, made, 1)).map(new Either()).name(name);
                break;
            default:
                operator = input(node, made).map(value -> value).returns(Long.class).name(name);
        }
        operator.setParallelism(node.get("parallelism").asInt());
        if (!node.get("group").isNull()) {
            operator.slotSharingGroup(node.get("group").asText());
        }
        if (!node.get("uid").isNull()) {
            operator.uid(node.get("uid").asText());
        }
        switch (node.get("strategy").asText()) {
            case "HEAD":
                return operator.startNewChain();
            case "NEVER":
                return operator.disableChaining();
            default:
                return operator;
        }
    }

    private static void sink(JsonNode node, List<SingleOutputStreamOperator<Long>> made, String name) {
        DataStreamSink<Long> sink = input(node, made).sinkTo(new Committing()).name(name);
        sink.setParallelism(node.get("parallelism").asInt());
        if (!node.get("group").isNull()) {
            sink.slotSharingGroup(node.get("group").asText());
        }
        if (!node.get("uid").isNull()) {
            sink.uid(node.get("uid").asText());
        }
        if (node.get("strategy").asText().equals("NEVER")) {
            sink.disableChaining();
        }
    }

    private static DataStream<Long> input(JsonNode node, List<SingleOutputStreamOperator<Long>> made) {
        DataStream<Long> stream = one(node, made, 0);
        for (int input = 1; input < node.get("inputs").size(); input++) {
            stream = stream.union(one(node, made, input));
        }
        return node.get("is_keyed").asBoolean() ? stream.keyBy(value -> value) : stream;
    }

    private static DataStream<Long> one(JsonNode node, List<SingleOutputStreamOperator<Long>> made, int input) {
        DataStream<Long> one = made.get(node.get("inputs").get(input).asInt());
        return node.get("rebalance").asBoolean() ? one.rebalance() : one;
    }

    private static final class Either implements CoMapFunction<Long, Long, Long> {
        @Override
        public Long map1(Long value) {
            return value;
        }

        @Override
        public Long map2(Long value) {
            return value;
        }
    }

    private static final class Committing implements Sink<Long>, SupportsCommitter<Long> {
        @Override
        public CommittingSinkWriter<Long, Long> createWriter(WriterInitContext context) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Committer<Long> createCommitter(CommitterInitContext context) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SimpleVersionedSerializer<Long> getCommittableSerializer() {
            return null; // Only its text is wanted.
        }
    }

    private static final class Nothing extends RichParallelSourceFunction<Long> {
        @Override
        public void run(SourceContext<Long> context) {}

        @Override
        public void cancel() {}
    }

    private static final class Same implements AsyncFunction<Long, Long> {
        @Override
        public void asyncInvoke(Long value, ResultFuture<Long> future) {
            future.complete(Collections.singleton(value));
        }
    }
}

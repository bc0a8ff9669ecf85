package flowsim.differential;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;

/** The chains that Flink makes of a job: nothing runs, only the job graph is made. */
public final class Chains {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Chains() {}

    /**
     * The names of the job vertices, and the slot sharing group of each operator; operators are called n0, n1, ... as they
     * stand in the description.
     */
    public static String of(String description) throws Exception {
        JsonNode given = JSON.readTree(description);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        if (!given.get("chaining").asBoolean()) {
            env.disableOperatorChaining();
        }
        List<SingleOutputStreamOperator<Long>> made = new ArrayList<>();
        int number = 0;
        for (JsonNode node : given.get("operators")) {
            made.add(operator(env, node, made, "n" + number++));
        }
        List<String> names = new ArrayList<>();
        StreamGraph graph = env.getStreamGraph();
        Map<String, String> groups = new HashMap<>();
        for (StreamNode node : graph.getStreamNodes()) {
            groups.put(node.getOperatorName(), node.getSlotSharingGroup());
        }
        for (JobVertex vertex : graph.getJobGraph().getVerticesSortedTopologicallyFromSources()) {
            names.add(vertex.getName());
        }
        return JSON.writeValueAsString(Map.of("vertices", names, "groups", groups));
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
            default:
                operator = input(node, made).map(value -> value).returns(Long.class).name(name);
        }
        operator.setParallelism(node.get("parallelism").asInt());
        if (!node.get("group").isNull()) {
            operator.slotSharingGroup(node.get("group").asText());
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

    private static DataStream<Long> input(JsonNode node, List<SingleOutputStreamOperator<Long>> made) {
        DataStream<Long> stream = null;
        for (JsonNode number : node.get("inputs")) {
            DataStream<Long> one = made.get(number.asInt());
            one = node.get("rebalance").asBoolean() ? one.rebalance() : one;
            stream = stream == null ? one : stream.union(one);
        }
        return stream;
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

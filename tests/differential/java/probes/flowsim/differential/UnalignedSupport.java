package flowsim.differential;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.StandardSinkTopologies;
import org.apache.flink.streaming.api.connector.sink2.SupportsPostCommitTopology;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.CoMapFunction;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;

/** Which exchanges of a job support unaligned checkpoints: nothing runs, only the stream graph is made. */
public final class UnalignedSupport {
    private static final ObjectMapper JSON = new ObjectMapper();

    private UnalignedSupport() {}

    /** The edges without chaining: names of both operators, partitioner, support. Operators are called n0, n1, ... */
    public static String of(String description) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.disableOperatorChaining();
        env.enableCheckpointing(100);
        env.getCheckpointConfig().enableUnalignedCheckpoints();
        List<DataStream<Long>> made = new ArrayList<>();
        for (JsonNode node : JSON.readTree(description)) {
            add(env, node, made, "n" + made.size());
        }
        StreamGraph graph = env.getStreamGraph();
        List<List<Object>> edges = new ArrayList<>();
        for (StreamNode node : graph.getStreamNodes()) {
            for (StreamEdge edge : node.getInEdges()) {
                String source = graph.getStreamNode(edge.getSourceId()).getOperatorName();
                boolean supports = edge.supportsUnalignedCheckpoints();
                edges.add(List.of(source, node.getOperatorName(), edge.getPartitioner().toString(), supports));
            }
        }
        return JSON.writeValueAsString(edges);
    }

    private static void add(StreamExecutionEnvironment env, JsonNode node, List<DataStream<Long>> made, String name) {
        int parallelism = node.get("parallelism").asInt();
        switch (node.get("kind").asText()) {
            case "source":
                NumberSequenceSource numbers = new NumberSequenceSource(1, 9);
                made.add(env.fromSource(numbers, WatermarkStrategy.noWatermarks(), name).setParallelism(parallelism));
                break;
            case "co_map":
                DataStream<Long> first = input(node.get("inputs").get(0), made);
                made.add(first.connect(input(node.get("inputs").get(1), made)).map(new Both()).name(name).setParallelism(parallelism));
                break;
            case "sink":
                united(node, made).sinkTo(new Nowhere()).name(name).setParallelism(parallelism);
                made.add(null);
                break;
            default:
                made.add(united(node, made).map(value -> value).returns(Long.class).name(name).setParallelism(parallelism));
        }
    }

    private static DataStream<Long> united(JsonNode node, List<DataStream<Long>> made) {
        DataStream<Long> stream = null;
        for (JsonNode one : node.get("inputs")) {
            DataStream<Long> next = input(one, made);
            stream = stream == null ? next : stream.union(next);
        }
        return stream;
    }

    private static DataStream<Long> input(JsonNode one, List<DataStream<Long>> made) {
        DataStream<Long> stream = made.get(one.get(0).asInt());
        switch (one.get(1).asText()) {
            case "forward":
                return stream.forward();
            case "rebalance":
                return stream.rebalance();
            case "rescale":
                return stream.rescale();
            case "shuffle":
                return stream.shuffle();
            case "broadcast":
                return stream.broadcast();
            case "global":
                return stream.global();
            case "hash":
                return stream.keyBy(value -> value);
            case "custom":
                return stream.partitionCustom((key, channels) -> 0, value -> value);
            default:
                return stream;
        }
    }

    private static final class Both implements CoMapFunction<Long, Long, Long> {
        @Override
        public Long map1(Long value) {
            return value;
        }

        @Override
        public Long map2(Long value) {
            return value;
        }
    }

    /** A sink with committers and a global committer. */
    private static final class Nowhere implements Sink<Long>, SupportsCommitter<Long>, SupportsPostCommitTopology<Long> {
        @Override
        public SinkWriter<Long> createWriter(WriterInitContext context) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Committer<Long> createCommitter(CommitterInitContext context) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SimpleVersionedSerializer<Long> getCommittableSerializer() {
            return null;
        }

        @Override
        public void addPostCommitTopology(DataStream<CommittableMessage<Long>> committables) {
            StandardSinkTopologies.addGlobalCommitter(committables, () -> new NoCommitter(), () -> null);
        }
    }

    private static final class NoCommitter implements Committer<Long> {
        @Override
        public void commit(Collection<CommitRequest<Long>> requests) {}

        @Override
        public void close() {}
    }
}

package flowsim.conform;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.operators.StreamGroupedReduceOperator;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.streaming.runtime.operators.TimestampsAndWatermarksOperatorFactory;

/**
 * Builds the job of a plan with the DataStream API. Records are numbers: their values, and the functions of the user, are in
 * Python.
 */
final class Interpreter {
    /** By the kinds of {@code flowsim/conform/operators.py}. */
    private static final Map<String, OperatorBuilder> BUILDERS = new HashMap<>();

    static {
        BUILDERS.put(
                "watermarks",
                node ->
                        node.input(0)
                                .transform(
                                        node.name(),
                                        Types.LONG,
                                        new TimestampsAndWatermarksOperatorFactory<>(
                                                Watermarks.strategy(node.operator().get("watermarks")), true)));
        BUILDERS.put("map", node -> node.input(0).map(new Functions.Map(node.function()), Types.LONG));
        BUILDERS.put("filter", node -> node.input(0).filter(new Functions.Filter(node.function())));
        BUILDERS.put("flat_map", node -> node.input(0).flatMap(new Functions.FlatMap(node.function()), Types.LONG));
        BUILDERS.put("process", node -> node.input(0).process(new Functions.Process(node.function()), Types.LONG));
        BUILDERS.put(
                "keyed_process", node -> node.keyed(0).process(new Functions.KeyedProcess(node.function()), Types.LONG));
        BUILDERS.put(
                "reduce",
                node ->
                        node.keyed(0)
                                .transform(
                                        node.name(),
                                        Types.LONG,
                                        new StreamGroupedReduceOperator<>(
                                                new Functions.Reduce(node.function()), LongSerializer.INSTANCE)));
        BUILDERS.put("window", node -> Windows.keyed(node.keyed(0), node.operator(), node.function()));
        BUILDERS.put("window_all", node -> Windows.all(node.input(0), node.operator(), node.function()));
        BUILDERS.put(
                "async", node -> Asynchronous.of(node.input(0), node.operator(), node.function()).returns(Types.LONG));
        BUILDERS.put(
                "co_map",
                node -> node.input(0).connect(node.input(1)).map(new Functions.CoMap(node.function()), Types.LONG));
        BUILDERS.put(
                "co_flat_map",
                node -> node.input(0).connect(node.input(1)).flatMap(new Functions.CoFlatMap(node.function()), Types.LONG));
        BUILDERS.put(
                "co_process",
                node -> node.input(0).connect(node.input(1)).process(new Functions.CoProcess(node.function()), Types.LONG));
        BUILDERS.put(
                "keyed_co_process",
                node ->
                        node.keyed(0)
                                .connect(node.keyed(1))
                                .process(new Functions.KeyedCoProcess(node.function()), Types.LONG));
        BUILDERS.put("interval_join", Interpreter::intervalJoin);
        BUILDERS.put(
                "broadcast", node -> Broadcasts.plain(node.input(0), node.input(1), node.operator(), node.function()));
        BUILDERS.put(
                "keyed_broadcast",
                node -> Broadcasts.keyed(node.keyed(0), node.input(1), node.operator(), node.function()));
        BUILDERS.put("sink", Interpreter::sink);
    }

    private final StreamExecutionEnvironment env;
    private final JsonNode plan;

    Interpreter(StreamExecutionEnvironment env, JsonNode plan) {
        this.env = env;
        this.plan = plan;
    }

    void build() {
        Map<Integer, DataStream<Long>> streams = new HashMap<>();
        for (JsonNode each : plan.get("nodes")) {
            PlanNode node = new PlanNode(each, streams);
            SingleOutputStreamOperator<?> made =
                    node.kind().equals("source") ? source(node) : builder(node).build(node);
            finish(node, made);
            @SuppressWarnings("unchecked") // Only that of a sink has other records, and no operator reads it.
            SingleOutputStreamOperator<Long> stream = (SingleOutputStreamOperator<Long>) made;
            streams.put(node.id(), stream);
        }
    }

    private static OperatorBuilder builder(PlanNode node) {
        OperatorBuilder known = BUILDERS.get(node.kind());
        if (known != null) {
            return known;
        }
        try {
            Class<?> found = Class.forName(node.kind());
            return found.asSubclass(OperatorBuilder.class).getConstructor().newInstance();
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException(
                    node.name() + ": " + node.kind() + " is no public class that implements OperatorBuilder", e);
        }
    }

    private SingleOutputStreamOperator<Long> source(PlanNode node) {
        int id = node.id();
        JsonNode scripts = plan.get("run").get("scripts").get(String.valueOf(id));
        if (node.operator().get("legacy").asBoolean()) {
            return env.addSource(new PlayedFunction(id, scripts), nameInFlink(node), Types.LONG);
        }
        WatermarkStrategy<Long> strategy = Watermarks.strategy(node.operator().get("watermarks"));
        return env.fromSource(new PlayedSource(id, scripts), strategy, nameInFlink(node), Types.LONG);
    }

    private static SingleOutputStreamOperator<?> sink(PlanNode node) {
        if (!node.operator().get("commits").asBoolean()) {
            return node.input(0).map(value -> value).returns(Types.LONG);
        }
        SingleOutputStreamOperator<CommittableMessage<String>> writer = Sinks.writer(node.input(0), node.id());
        SingleOutputStreamOperator<?> committer =
                Sinks.committer(writer, node.id(), node.operator().get("final_checkpoint").asBoolean())
                        .name(node.name() + ": Committer")
                        .setParallelism(node.json.get("parallelism").asInt());
        if (node.json.hasNonNull("uid")) {
            committer.uid("Sink Committer: " + node.json.get("uid").asText());
        }
        return writer;
    }

    private static SingleOutputStreamOperator<Long> intervalJoin(PlanNode node) {
        JsonNode given = node.operator();
        KeyedStream.IntervalJoined<Long, Long, Key> joined =
                node.keyed(0)
                        .intervalJoin(node.keyed(1))
                        .between(
                                Duration.ofMillis(given.get("lower_ms").asLong()),
                                Duration.ofMillis(given.get("upper_ms").asLong()));
        if (given.hasNonNull("late_left")) {
            joined = joined.sideOutputLeftLateData(UserFunction.tag(given.get("late_left").asText()));
        }
        if (given.hasNonNull("late_right")) {
            joined = joined.sideOutputRightLateData(UserFunction.tag(given.get("late_right").asText()));
        }
        return joined.process(new Functions.Join(node.function()), Types.LONG);
    }

    /** Flink puts {@code Source: } before the names of sources itself. */
    private static String nameInFlink(PlanNode node) {
        boolean isSource = node.kind().equals("source");
        return isSource && node.name().startsWith("Source: ") ? node.name().substring("Source: ".length()) : node.name();
    }

    /** What every operator has. */
    private static void finish(PlanNode node, SingleOutputStreamOperator<?> stream) {
        Transformation<?> made = stream.getTransformation();
        if (made instanceof OneInputTransformation || made instanceof TwoInputTransformation) {
            Seen.watch(made, node.id());
        }
        JsonNode json = node.json;
        stream.name(nameInFlink(node));
        if (json.hasNonNull("uid")) {
            stream.uid(json.get("uid").asText());
        }
        if (!node.kind().equals("window_all")) {
            stream.setParallelism(json.get("parallelism").asInt());
        }
        if (json.hasNonNull("max_parallelism")) {
            stream.setMaxParallelism(json.get("max_parallelism").asInt());
        }
        switch (json.get("chaining").asText()) {
            case "HEAD":
                stream.startNewChain();
                break;
            case "NEVER":
                stream.disableChaining();
                break;
            default:
        }
        if (json.hasNonNull("slot_sharing_group")) {
            stream.slotSharingGroup(json.get("slot_sharing_group").asText());
        }
    }
}

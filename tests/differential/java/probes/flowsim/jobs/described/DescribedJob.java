package flowsim.jobs.described;

import flowsim.jobs.Job;
import flowsim.jobs.Network;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A job that its parameters describe: scripted sources, one operator of some kind, probes behind its outputs.
 *
 * <p>Python builds the same job from the same description; {@code described_jobs.py} says what a description is.
 */
public class DescribedJob implements Job {
    private final List<JobVertexID> upstreamFirst = new ArrayList<>();
    private int subtasks;

    @Override
    public void configure(Configuration settings, JsonNode given) {
        settings.setString(
                "pipeline.auto-watermark-interval", given.get("auto_watermark_interval_ms").asInt() + " ms");
    }

    @Override
    public void build(StreamExecutionEnvironment env, JsonNode given) {
        Steps.reset();
        ManualTime.reset(given.get("kind").asText().equals("async"));
        env.setBufferTimeout(given.get("network").get("buffer_timeout_ms").asLong());
        if (!given.get("chaining").asBoolean()) {
            env.disableOperatorChaining();
        }
        if (!given.get("max_parallelism").isNull()) {
            env.setMaxParallelism(given.get("max_parallelism").asInt());
        }
        Map<String, DataStream<?>> outputs = new LinkedHashMap<>();
        outputs(new Streams(env, given), given, outputs);
        for (Map.Entry<String, DataStream<?>> output : outputs.entrySet()) {
            probe(output.getKey(), output.getValue(), given);
        }
        if (given.get("network").get("apart").asBoolean()) {
            for (Transformation<?> made : env.getTransformations()) {
                if (!made.getSlotSharingGroup().isPresent()) {
                    made.setSlotSharingGroup("default");
                }
            }
        }
        JobGraph graph = env.getStreamGraph(false).getJobGraph();
        for (JobVertex vertex : graph.getVerticesSortedTopologicallyFromSources()) {
            upstreamFirst.add(vertex.getID());
            subtasks += vertex.getParallelism();
        }
    }

    private static void outputs(Streams streams, JsonNode given, Map<String, DataStream<?>> outputs) {
        switch (given.get("kind").asText()) {
            case "pass":
                outputs.put("out", given.get("keyed").asBoolean() ? streams.keyed(0) : streams.exchanged(0));
                break;
            case "window":
                Windows.outputs(streams, given, outputs);
                break;
            case "timers":
                withSide(streams.keyed(0).process(new Timers(), Types.STRING), given, outputs);
                break;
            case "state":
                outputs.put("out", after(streams.keyed(0).process(new States(), Types.STRING), given));
                break;
            case "reduce":
                outputs.put("out", Reductions.of(streams.keyed(0), given).setParallelism(parallelism(given)));
                break;
            case "interval_join":
                Joins.interval(streams, given, outputs);
                break;
            case "window_join":
            case "co_group":
                outputs.put("out", after(Joins.windowed(streams, given), given));
                break;
            case "async":
                outputs.put("out", AsyncStages.of(streams, given));
                break;
            case "co_process":
            case "broadcast":
                withSide(Connections.of(streams, given), given, outputs);
                break;
            default:
                outputs.put("out", after(Connections.of(streams, given), given));
        }
    }

    private static void withSide(
            SingleOutputStreamOperator<String> stream, JsonNode given, Map<String, DataStream<?>> outputs) {
        outputs.put("out", after(stream, given));
        outputs.put("side", stream.getSideOutput(Timers.SIDE));
    }

    static int parallelism(JsonNode given) {
        return given.get("parallelism").asInt();
    }

    /** The operator with the functions behind it, chained or not. */
    static SingleOutputStreamOperator<String> after(SingleOutputStreamOperator<String> stream, JsonNode given) {
        int parallelism = parallelism(given);
        SingleOutputStreamOperator<String> last = stream.setParallelism(parallelism);
        for (JsonNode function : given.get("after")) {
            switch (function.asText()) {
                case "map":
                    last = last.map(text -> "[\"m\"," + text + "]").returns(Types.STRING);
                    break;
                case "filter":
                    last = last.filter(new TwoOfThree());
                    break;
                case "refuse":
                    last = last.map(new RefusesFifth());
                    break;
                default:
                    last =
                            last.<String>flatMap(
                                            (text, out) -> {
                                                out.collect(text);
                                                out.collect("[\"again\"," + text + "]");
                                            })
                                    .returns(Types.STRING);
            }
            last.setParallelism(parallelism);
        }
        return last;
    }

    private static <T> void probe(String name, DataStream<T> stream, JsonNode given) {
        boolean manual = given.get("manual_time").asBoolean();
        String edge = given.get("out_edge").asText();
        DataStream<T> exchanged = stream;
        if (!edge.equals("none")) {
            if (manual) {
                exchanged =
                        stream.transform("end", stream.getType(), new Probe<T>(null, true))
                                .setParallelism(parallelism(given));
            }
            exchanged = Streams.exchangedAny(exchanged, edge);
        }
        exchanged.transform(name, stream.getType(), new Probe<T>(name, manual, given.get("probe_cost_ns").asLong()))
                .setParallelism(given.get("probe_parallelism").asInt());
    }

    static Duration millis(JsonNode number) {
        return Duration.ofMillis(number.asLong());
    }

    @Override
    public Network network(JsonNode given) {
        return Network.of(given.get("network"));
    }

    @Override
    public void report(Map<String, Object> answer) {
        answer.put("settled", Steps.settled());
        answer.put("moments", ManualTime.moments());
        answer.put("retries", ManualTime.retries());
    }

    @Override
    public void drive(MiniCluster cluster, JobID job, JsonNode given) throws Exception {
        boolean isAsync = given.get("kind").asText().equals("async");
        boolean isManual = given.get("manual_time").asBoolean();
        if (given.get("steps").asInt() > 0) {
            long gap = isManual ? given.get("gap_ms").asLong() : 0;
            long timeout = given.get("network").get("buffer_timeout_ms").asLong();
            boolean isDirect = timeout == 0 && !given.get("network").get("spread").asBoolean();
            try {
                Channels channels = isDirect ? null : new Channels(timeout >= 0);
                new Steps(cluster, job, upstreamFirst, subtasks, channels, isAsync)
                        .conduct(
                                given.get("steps").asInt(), gap, given.path("may_block").asBoolean(), isAsync);
            } catch (Exception e) {
                // The next job must not hear of this one.
                cluster.cancelJob(job).get();
                cluster.requestJobResult(job).get();
                throw e;
            }
        }
    }

    /** Fails at the fifth record of its subtask. */
    private static final class RefusesFifth extends RichMapFunction<String, String> {
        private transient int seen;

        @Override
        public String map(String text) {
            if (++seen == 5) {
                throw new IllegalStateException("refused the fifth");
            }
            return text;
        }
    }

    /** Drops every third record of its subtask. */
    private static final class TwoOfThree extends RichFilterFunction<String> {
        private transient int seen;

        @Override
        public void open(OpenContext context) {
            seen = 0;
        }

        @Override
        public boolean filter(String text) {
            return ++seen % 3 != 0;
        }
    }
}

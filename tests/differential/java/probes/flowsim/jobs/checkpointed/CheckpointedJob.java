package flowsim.jobs.checkpointed;

import flowsim.jobs.Job;
import flowsim.jobs.Network;
import flowsim.jobs.described.Operators;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/**
 * One phase of a job with scripted checkpoints, failures, savepoints and stops; {@code checkpoint_jobs.py} says what a
 * description is.
 */
public final class CheckpointedJob implements Job {
    private static final int SECONDS = 60;

    @Override
    public void configure(Configuration settings, JsonNode given) {
        JsonNode params = given.get("params");
        if (params.path("enabled").asBoolean(true)) {
            settings.setString("execution.checkpointing.interval", "10 h");
        }
        settings.setString("execution.checkpointing.min-pause", "10 h");
        settings.setString("execution.checkpointing.timeout", "1 min");
        settings.setString("execution.checkpointing.mode", params.get("mode").asText());
        settings.setString("execution.checkpointing.dir", given.get("folder").asText());
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("execution.checkpointing.tolerable-failed-checkpoints", "10");
        settings.setString("execution.checkpointing.unaligned.enabled", params.path("unaligned").asText("false"));
        settings.setString(
                "execution.checkpointing.aligned-checkpoint-timeout",
                params.path("aligned_timeout_ms").asInt(0) + " ms");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "10");
        settings.setString("restart-strategy.fixed-delay.delay", "1 ms");
        if (given.has("restore")) {
            settings.setString("execution.state-recovery.path", given.get("restore").asText());
            settings.setString("execution.state-recovery.claim-mode", "NO_CLAIM");
        }
    }

    @Override
    public Network network(JsonNode given) {
        JsonNode network = given.get("params").get("network");
        return network == null ? null : Network.of(network);
    }

    @Override
    public void build(StreamExecutionEnvironment env, JsonNode given) {
        Board.begin(given.get("phase").asInt(), given.get("folder").asText());
        JsonNode params = given.get("params");
        Board.alignedTimeout = params.path("aligned_timeout_ms").asInt(0);
        int parallelism = given.get("parallelism").asInt();
        env.setMaxParallelism(params.path("max_parallelism").asInt(128));
        if (!params.path("chaining").asBoolean(true)) {
            env.disableOperatorChaining();
        }
        Board.expectedOpens = parallelism;
        Board.expectedNotifications = parallelism;
        operator(env, given, parallelism)
                .setParallelism(parallelism)
                .uid("op")
                .transform("out", Types.STRING, new Probe())
                .setParallelism(parallelism)
                .uid("probe")
                .sinkTo(new ScriptedSink(params.path("commit_retry").asBoolean(false)))
                .setParallelism(parallelism)
                .uid("sink");
    }

    private static SingleOutputStreamOperator<String> operator(
            StreamExecutionEnvironment env, JsonNode given, int parallelism) {
        JsonNode params = given.get("params");
        String kind = given.get("job").asText();
        List<DataStream<Tuple4<Integer, String, Long, long[]>>> sources =
                sources(env, given.get("scripts"), kind.equals("keyed_broadcast"));
        boolean isConnected = kind.equals("keyed_broadcast") || kind.equals("keyed_co_process");
        DataStream<Tuple4<Integer, String, Long, long[]>> events = sources.get(0);
        for (int i = 1; i < sources.size() && !isConnected; i++) {
            events = events.union(sources.get(i));
        }
        KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed = keyed(events);
        Duration size = Duration.ofMillis(params.path("size").asLong());
        switch (kind) {
            case "keyed":
                Board.expectedOpens += parallelism;
                return keyed.process(new Counting(params), Types.STRING);
            case "trace":
                Board.expectedOpens += 2 * parallelism;
                // Two tasks would write one log in any order.
                boolean isOneTask = params.get("chaining").asBoolean();
                return keyed.transform("t1", Types.STRING, new Trace<>("t1", isOneTask ? "trace" : "first"))
                        .setParallelism(parallelism)
                        .uid("first")
                        .transform("t2", Types.STRING, new Trace<>("t2", isOneTask ? "trace" : "second"));
            case "async":
                return (params.get("ordered").asBoolean()
                                ? AsyncDataStream.orderedWait(events, new Answers(given.get("scripts")), 60, TimeUnit.SECONDS, 20)
                                : AsyncDataStream.unorderedWait(events, new Answers(given.get("scripts")), 60, TimeUnit.SECONDS, 20))
                        .returns(Types.STRING);
            case "window":
                return keyed.window(TumblingEventTimeWindows.of(size)).process(new Contents<>(), Types.STRING);
            case "sliding":
                return keyed.window(SlidingEventTimeWindows.of(size, Duration.ofMillis(params.get("slide").asLong())))
                        .allowedLateness(Duration.ofMillis(params.get("lateness").asLong()))
                        .process(new Contents<>(), Types.STRING);
            case "session":
                return keyed.window(EventTimeSessionWindows.withGap(size)).process(new Contents<>(), Types.STRING);
            case "count":
                return keyed.countWindow(params.get("size").asLong()).process(new Contents<>(), Types.STRING);
            case "keyed_co_process":
                return Operators.connected(keyed, keyed(sources.get(1)));
            case "keyed_broadcast":
                return Operators.broadcast(keyed, sources.get(1));
            default:
                return kind.equals("state") ? Operators.states(keyed) : Operators.timers(keyed);
        }
    }

    private static List<DataStream<Tuple4<Integer, String, Long, long[]>>> sources(
            StreamExecutionEnvironment env, JsonNode scripts, boolean lastIsBroadcast) {
        List<DataStream<Tuple4<Integer, String, Long, long[]>>> sources = new ArrayList<>();
        Board.sources = 0;
        for (JsonNode script : scripts) {
            boolean countsArrivals = !lastIsBroadcast || sources.isEmpty();
            String name = sources.isEmpty() ? "source" : "source" + sources.size();
            sources.add(
                    env.addSource(new ScriptedSource(name, script, countsArrivals), name, Operators.RECORD)
                            .setParallelism(script.size())
                            .uid(name));
            Board.sources += script.size();
        }
        return sources;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed(
            DataStream<Tuple4<Integer, String, Long, long[]>> events) {
        return events.keyBy(new Keys(), (TypeInformation) Types.STRING);
    }

    @Override
    public void drive(MiniCluster cluster, JobID job, JsonNode given) throws Exception {
        Board.job = job;
        Board.cluster = cluster;
        CompletableFuture<JobResult> result = cluster.requestJobResult(job);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!result.isDone() && !Board.hasEnded && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
        if (!result.isDone()) {
            cluster.cancelJob(job).get(SECONDS, TimeUnit.SECONDS);
            if (!Board.hasEnded) {
                throw new IllegalStateException("not over after " + SECONDS + " s");
            }
        }
        if (Board.stop != null) {
            try {
                Board.stop.get(SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                // The source has logged it.
            }
        }
    }

    @Override
    public void report(Map<String, Object> answer) {
        answer.put("canceled", Board.hasEnded);
        answer.put("snapshot", Board.snapshot);
    }
}

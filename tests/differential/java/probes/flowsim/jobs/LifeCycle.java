package flowsim.jobs;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedMultiInput;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Sources with operators chained to them, and behind a network exchange a chain of more operators, all of which log every
 * step of their lives. {@code end} says how the job ends: {@code input}, {@code drain}, {@code stop} or {@code cancel};
 * the last three once every source has sent a record through its chain and one has reached the last chain's end.
 */
public class LifeCycle implements Job {
    private static final int SECONDS = 30;
    private static final AtomicInteger SENT = new AtomicInteger();
    private static final AtomicInteger ARRIVED = new AtomicInteger();

    @Override
    public void build(StreamExecutionEnvironment env, JsonNode given) {
        SENT.set(0);
        ARRIVED.set(0);
        boolean legacy = given.get("legacy").asBoolean();
        boolean endless = !given.get("end").asText().equals("input");
        boolean keeps = given.get("keeps").asBoolean();
        DataStream<Long> first = head(env, "one", legacy, endless, keeps);
        switch (given.get("shape").asText()) {
            case "chain":
                behind(first.rebalance());
                break;
            case "union":
                behind(first.rebalance().union(head(env, "two", legacy, endless, keeps).rebalance()));
                break;
            default:
                DataStream<Long> second = head(env, "two", legacy, endless, keeps);
                DataStream<Long> both =
                        first.connect(second).transform("both", Types.LONG, new Both());
                behind(both.rebalance());
        }
    }

    private static DataStream<Long> head(
            StreamExecutionEnvironment env, String name, boolean legacy, boolean endless, boolean keeps) {
        DataStream<Long> numbers =
                legacy
                        ? env.addSource(new Numbers(endless), name, Types.LONG)
                        : env.fromSource(
                                new NumberSequenceSource(0, endless ? Long.MAX_VALUE : 2),
                                WatermarkStrategy.noWatermarks(),
                                name);
        return numbers.transform("a", Types.LONG, new Diary(name, "a", !endless, keeps, endless))
                .transform("b", Types.LONG, new Diary(name, "b", !endless, keeps, false));
    }

    private static void behind(DataStream<Long> stream) {
        stream.transform("c", Types.LONG, new Diary("behind", "c", false, false, false))
                .transform("d", Types.LONG, new Last());
    }

    @Override
    public void drive(MiniCluster cluster, JobID job, JsonNode given) throws Exception {
        String end = given.get("end").asText();
        if (end.equals("input")) {
            return;
        }
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        int sources = given.get("shape").asText().equals("chain") ? 1 : 2;
        while (ARRIVED.get() == 0 || SENT.get() < sources) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("no record arrived");
            }
            Thread.sleep(1);
        }
        if (end.equals("cancel")) {
            cluster.cancelJob(job).get(SECONDS, TimeUnit.SECONDS);
            return;
        }
        Path folder = Files.createTempDirectory("flowsim-savepoint");
        String place = folder.toUri().toString();
        while (true) {
            try {
                cluster.stopWithSavepoint(job, place, end.equals("drain"), SavepointFormatType.CANONICAL)
                        .get(SECONDS, TimeUnit.SECONDS);
                return;
            } catch (ExecutionException e) {
                // A record may arrive before the job master knows that all tasks are running.
                if (System.nanoTime() > deadline || !e.toString().contains("Not all required tasks")) {
                    throw e;
                }
                Thread.sleep(10);
            }
        }
    }

    private static final class Numbers implements SourceFunction<Long> {
        private final boolean endless;
        private volatile boolean running = true;

        Numbers(boolean endless) {
            this.endless = endless;
        }

        @Override
        public void run(SourceContext<Long> context) {
            for (long number = 0; running && (endless || number < 3); number++) {
                synchronized (context.getCheckpointLock()) {
                    context.collect(number);
                }
            }
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    /** Logs its life; {@code keeps}: emits one more record in finish. */
    private static class Diary extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Long, Long>, BoundedOneInput {
        private final String task;
        private final String name;
        private final boolean tellsRecords;
        private final boolean keeps;
        private final boolean isSlow;
        private boolean hasSent;

        Diary(String task, String name, boolean tellsRecords, boolean keeps, boolean isSlow) {
            this.task = task;
            this.name = name;
            this.tellsRecords = tellsRecords;
            this.keeps = keeps;
            this.isSlow = isSlow;
        }

        void log(String step) {
            Log.add(task, name, step);
        }

        @Override
        public void open() throws Exception {
            super.open();
            log(getContainingTask().isRunning() ? "open running" : "open");
        }

        @Override
        public void processElement(StreamRecord<Long> element) throws Exception {
            if (tellsRecords) {
                log("record " + element.getValue());
            }
            if (isSlow) {
                Thread.sleep(1);
            }
            output.collect(element);
            if (name.equals("a") && !hasSent) {
                hasSent = true;
                SENT.incrementAndGet();
            }
        }

        @Override
        public void processWatermark(Watermark watermark) throws Exception {
            log(watermark.equals(Watermark.MAX_WATERMARK) ? "max watermark" : "watermark");
            super.processWatermark(watermark);
        }

        @Override
        public void endInput() {
            log("end_input");
        }

        @Override
        public void finish() throws Exception {
            log("finish");
            if (keeps) {
                output.collect(new StreamRecord<>(-1L));
            }
            super.finish();
        }

        @Override
        public void close() throws Exception {
            log("close");
            super.close();
        }
    }

    /** The end of all chains. */
    private static final class Last extends Diary {
        Last() {
            super("behind", "d", false, false, false);
        }

        @Override
        public void processElement(StreamRecord<Long> element) {
            ARRIVED.incrementAndGet();
        }
    }

    private static final class Both extends AbstractStreamOperator<Long>
            implements TwoInputStreamOperator<Long, Long, Long>, BoundedMultiInput {
        @Override
        public void open() throws Exception {
            super.open();
            Log.add("both", "both", "open");
        }

        @Override
        public void processElement1(StreamRecord<Long> element) {
            output.collect(element);
        }

        @Override
        public void processElement2(StreamRecord<Long> element) {
            output.collect(element);
        }

        @Override
        public void processWatermark(Watermark watermark) throws Exception {
            Log.add("both", "both", "max watermark");
            super.processWatermark(watermark);
        }

        @Override
        public void endInput(int input) {
            Log.add("both", "both", "end_input");
        }

        @Override
        public void finish() throws Exception {
            Log.add("both", "both", "finish");
            super.finish();
        }

        @Override
        public void close() throws Exception {
            Log.add("both", "both", "close");
            super.close();
        }
    }
}

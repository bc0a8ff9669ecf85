package org.apache.flink.streaming.api.operators;

import flowsim.differential.Beats;
import flowsim.differential.EventTimeLog;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.metrics.groups.TaskIOMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.source.event.ReportedWatermarkEvent;
import org.apache.flink.runtime.source.event.WatermarkAlignmentEvent;
import org.apache.flink.streaming.api.operators.source.TimestampsAndWatermarks;
import org.apache.flink.streaming.api.operators.util.PausableRelativeClock;
import org.apache.flink.streaming.runtime.io.DataInputStatus;

/** The real source operator around a reader that plays what it is given, without a task around it. */
public final class EventTimeSource {
    private static final class Operator extends SourceOperator<Object, SourceSplit> {
        private final ExecutionConfig execution = new ExecutionConfig();

        Operator(WatermarkStrategy<Object> strategy, Beats beats, Configuration configuration, EventTimeLog log) {
            super(
                    null,
                    context -> {
                        throw new IllegalStateException("the reader is there already");
                    },
                    event -> log.note("report " + ((ReportedWatermarkEvent) event).getWatermark()),
                    serializer(),
                    strategy,
                    beats,
                    configuration,
                    "here",
                    true,
                    () -> true,
                    new HashMap<>(),
                    false,
                    false);
            metrics = UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup();
            execution.setLatencyTrackingInterval(0);
            initSourceMetricGroup();
        }

        @Override
        public ExecutionConfig getExecutionConfig() {
            return execution;
        }

        @SuppressWarnings("unchecked")
        private static SimpleVersionedSerializer<SourceSplit> serializer() {
            return (SimpleVersionedSerializer<SourceSplit>)
                    Proxy.newProxyInstance(
                            Operator.class.getClassLoader(),
                            new Class<?>[] {SimpleVersionedSerializer.class},
                            (proxy, method, arguments) -> {
                                throw new IllegalStateException("no split is moved");
                            });
        }
    }

    private final class Reader implements SourceReader<Object, SourceSplit> {
        private final Deque<String> items = new ArrayDeque<>();

        @Override
        public void start() {}

        @Override
        public InputStatus pollNext(ReaderOutput<Object> output) {
            String item = items.poll();
            if (item == null) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            String[] words = item.split(" ");
            if (words[0].equals("end")) {
                return InputStatus.END_OF_INPUT;
            }
            SourceOutput<Object> target = words[1].equals("-") ? output : output.createOutputForSplit(words[1]);
            switch (words[0]) {
                case "record":
                    target.collect(words[2], Long.parseLong(words[2]));
                    break;
                case "watermark":
                    target.emitWatermark(new Watermark(Long.parseLong(words[2])));
                    break;
                case "idle":
                    target.markIdle();
                    break;
                case "active":
                    target.markActive();
                    break;
                case "release":
                    output.releaseOutputForSplit(words[1]);
                    break;
                default:
                    break;
            }
            return items.isEmpty() ? InputStatus.NOTHING_AVAILABLE : InputStatus.MORE_AVAILABLE;
        }

        @Override
        public void pauseOrResumeSplits(Collection<String> toPause, Collection<String> toResume) {
            log.note("pause " + new TreeSet<>(toPause) + " resume " + new TreeSet<>(toResume));
        }

        @Override
        public List<SourceSplit> snapshotState(long checkpointId) {
            return Collections.emptyList();
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void addSplits(List<SourceSplit> splits) {}

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }

    private final EventTimeLog log = new EventTimeLog();
    private final Beats beats = new Beats();
    private final Reader reader = new Reader();
    private final Operator operator;
    private final TaskIOMetricGroup task =
            UnregisteredMetricGroups.createUnregisteredTaskMetricGroup().getIOMetricGroup();

    public EventTimeSource(WatermarkStrategy<Object> strategy, long periodMillis, int samples) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(PipelineOptions.WATERMARK_ALIGNMENT_BUFFER_SIZE, samples);
        operator = new Operator(strategy, beats, configuration, log);
        PausableRelativeClock activity = new PausableRelativeClock(beats.clock);
        task.registerBackPressureListener(activity);
        set("mainInputActivityClock", activity);
        TimestampsAndWatermarks<Object> logic =
                TimestampsAndWatermarks.createProgressiveEventTimeLogic(
                        strategy,
                        operator.getSourceMetricGroup(),
                        beats,
                        periodMillis,
                        activity,
                        beats.clock,
                        task);
        set("eventTimeLogic", logic);
        set("sourceReader", reader);
        logic.startPeriodicWatermarkEmits();
    }

    private void set(String name, Object value) throws Exception {
        Field field = SourceOperator.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(operator, value);
    }

    private boolean isWaiting() throws Exception {
        Field field = SourceOperator.class.getDeclaredField("operatingMode");
        field.setAccessible(true);
        return field.get(operator).toString().equals("WAITING_FOR_ALIGNMENT");
    }

    /** Does one thing; answers what was heard, and whether the source waits for alignment then. */
    public String act(String command, String argument) throws Exception {
        switch (command) {
            case "poll":
                for (String item : argument.isEmpty() ? new String[0] : argument.split(",")) {
                    reader.items.add(item);
                }
                DataInputStatus status;
                do {
                    status = operator.emitNext(log);
                } while (status == DataInputStatus.MORE_AVAILABLE);
                log.note(status.toString());
                break;
            case "advance":
                beats.advanceTo(Long.parseLong(argument));
                break;
            case "announce":
                operator.handleOperatorEvent(new WatermarkAlignmentEvent(Long.parseLong(argument)));
                break;
            case "stop":
                operator.stop(StopMode.valueOf(argument));
                break;
            case "soft":
                mark(argument, task.getSoftBackPressuredTimePerSecond());
                break;
            default:
                mark(argument, task.getHardBackPressuredTimePerSecond());
                break;
        }
        return log.take() + "|" + isWaiting();
    }

    private static void mark(String argument, org.apache.flink.runtime.metrics.TimerGauge gauge) {
        if (argument.equals("start")) {
            gauge.markStart();
        } else {
            gauge.markEnd();
        }
    }
}

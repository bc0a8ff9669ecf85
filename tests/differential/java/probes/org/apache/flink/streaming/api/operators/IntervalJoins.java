package org.apache.flink.streaming.api.operators;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.eventtime.IndexedCombinedWatermarkStatus;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.AsyncKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointableKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupStatePartitionStreamProvider;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StatePartitionStreamProvider;
import org.apache.flink.runtime.state.UncompressedStreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackend;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackendBuilder;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.operators.co.IntervalJoinOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTaskCancellationContext;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.CloseableIterable;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.apache.flink.util.function.ThrowingRunnable;

/**
 * A real IntervalJoinOperator with a heap backend, real timers that may give way to mails, and mails that a script puts and
 * runs: answers what each command did. Records are longs; their key is the rest by 3.
 */
public final class IntervalJoins implements KeyContext {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int GROUPS = 128;

    private final List<String> log = new ArrayList<>();
    private final Mails mails = new Mails();
    private final HeapKeyedStateBackend<Object> backend;
    private final IntervalJoinOperator<Object, Object, Object, Object> operator;

    /** Answers a list of strings per command: what was logged, then timers and entries of state. */
    public static String run(String script) throws Exception {
        JsonNode given = JSON.readTree(script);
        IntervalJoins driver = new IntervalJoins(given);
        List<List<String>> answers = new ArrayList<>();
        for (JsonNode command : given.get("commands")) {
            try {
                driver.play(command);
            } catch (Exception thrown) {
                driver.log.add("throws " + thrown.getClass().getSimpleName());
                answers.add(new ArrayList<>(driver.log));
                break;
            }
            answers.add(driver.answer());
        }
        return JSON.writeValueAsString(answers);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private IntervalJoins(JsonNode given) throws Exception {
        KeyGroupRange range = new KeyGroupRange(0, GROUPS - 1);
        HeapPriorityQueueSetFactory queues = new HeapPriorityQueueSetFactory(range, GROUPS, 128);
        backend =
                new HeapKeyedStateBackendBuilder<Object>(
                                null, (TypeSerializer) LongSerializer.INSTANCE, getClass().getClassLoader(), GROUPS, range,
                                new ExecutionConfig(), System::currentTimeMillis, LatencyTrackingStateConfig.disabled(),
                                SizeTrackingStateConfig.disabled(), Collections.emptyList(),
                                UncompressedStreamCompressionDecorator.INSTANCE,
                                LocalRecoveryConfig.BACKUP_AND_RECOVERY_DISABLED, queues, true, new CloseableRegistry())
                        .build();
        boolean late = given.get("late_output").asBoolean();
        operator =
                new IntervalJoinOperator<>(
                        given.get("lower").asLong(), given.get("upper").asLong(), !given.get("lower_exclusive").asBoolean(),
                        !given.get("upper_exclusive").asBoolean(), late ? new OutputTag<>("late_left", (org.apache.flink.api.common.typeinfo.TypeInformation) Types.LONG) : null,
                        late ? new OutputTag<>("late_right", (org.apache.flink.api.common.typeinfo.TypeInformation) Types.LONG) : null,
                        (TypeSerializer) LongSerializer.INSTANCE, (TypeSerializer) LongSerializer.INSTANCE,
                        new Pairs(given.get("gives_way").asBoolean()));
        operator.metrics = UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup();
        operator.output = new Told();
        operator.combinedWatermark = IndexedCombinedWatermarkStatus.forInputsCount(2);
        operator.setMailboxExecutor(mails);
        HandTime time = new HandTime();
        operator.setProcessingTimeService(time);
        operator.timeServiceManager =
                InternalTimeServiceManagerImpl.create(
                        UnregisteredMetricGroups.createUnregisteredTaskMetricGroup().getIOMetricGroup(), backend, range,
                        getClass().getClassLoader(), this, time, Collections.emptyList(),
                        StreamTaskCancellationContext.alwaysRunning());
        operator.stateHandler =
                new StreamOperatorStateHandler(new Context(), new ExecutionConfig(), new CloseableRegistry());
        set(AbstractStreamOperator.class, operator, "container", task());
        operator.initializeState(
                (StateInitializationContext)
                        java.lang.reflect.Proxy.newProxyInstance(
                                IntervalJoins.class.getClassLoader(), new Class<?>[] {StateInitializationContext.class},
                                (proxy, method, arguments) ->
                                        "getKeyedStateStore".equals(method.getName())
                                                ? operator.stateHandler.getKeyedStateStore().get()
                                                : false));
        operator.open();
    }

    /** A task that never ran, of whose environment an operator may ask the configuration. */
    private static Object task() throws Exception {
        java.lang.reflect.Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object task = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(OneInputStreamTask.class);
        Configuration configuration = new Configuration();
        configuration.setString("execution.checkpointing.interval", "1 s");
        configuration.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
        configuration.setString("execution.checkpointing.unaligned.enabled", "true");
        configuration.setString("execution.checkpointing.unaligned.interruptible-timers.enabled", "true");
        Object environment =
                java.lang.reflect.Proxy.newProxyInstance(
                        IntervalJoins.class.getClassLoader(), new Class<?>[] {Environment.class},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "getJobConfiguration":
                                    return configuration;
                                case "getExecutionConfig":
                                    return new ExecutionConfig();
                                default:
                                    throw new UnsupportedOperationException(method.getName());
                            }
                        });
        set(StreamTask.class, task, "environment", environment);
        return task;
    }

    private static void set(Class<?> type, Object target, String name, Object value) throws Exception {
        java.lang.reflect.Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    private void play(JsonNode command) throws Exception {
        switch (command.get(0).asText()) {
            case "r":
                long value = command.get(2).asLong();
                setCurrentKey(Math.floorMod(value, 3L));
                StreamRecord<Object> record = new StreamRecord<>(value);
                if (!command.get(3).isNull()) {
                    record.setTimestamp(command.get(3).asLong());
                }
                if (command.get(1).asInt() == 1) {
                    operator.processElement1(record);
                } else {
                    operator.processElement2(record);
                }
                return;
            case "w":
                Watermark mark = new Watermark(command.get(2).asLong());
                if (command.get(1).asInt() == 1) {
                    operator.processWatermark1(mark);
                } else {
                    operator.processWatermark2(mark);
                }
                return;
            case "mail":
                mails.execute(() -> log.add("mail"), "mail");
                return;
            default:
                mails.runNext();
        }
    }

    private List<String> answer() {
        InternalTimerServiceImpl<?, ?> timers =
                (InternalTimerServiceImpl<?, ?>)
                        ((InternalTimeServiceManagerImpl<?>) operator.timeServiceManager)
                                .getRegisteredTimerServices()
                                .get("CLEANUP_TIMER");
        log.add(
                "timers " + timers.numEventTimeTimers() + ", watermark " + timers.currentWatermark() + ", state "
                        + backend.numKeyValueStateEntries() + ", mails " + mails.waiting.size());
        List<String> answer = new ArrayList<>(log);
        log.clear();
        return answer;
    }

    @Override
    public void setCurrentKey(Object key) {
        backend.setCurrentKey(key);
    }

    @Override
    public Object getCurrentKey() {
        return backend.getCurrentKey();
    }

    /** Emits what it is given, and the distance of a pair to a side output where it is a multiple of 4. */
    private static final class Pairs extends ProcessJoinFunction<Object, Object, Object> {
        private static final OutputTag<Long> DISTANCE = new OutputTag<>("distance", Types.LONG);
        private final boolean givesWay;

        Pairs(boolean givesWay) {
            this.givesWay = givesWay;
        }

        @Override
        public boolean useInterruptibleTimers(ReadableConfig config) {
            return givesWay;
        }

        @Override
        public void processElement(Object left, Object right, Context context, Collector<Object> out) {
            out.collect(left + "+" + right);
            long distance = context.getRightTimestamp() - context.getLeftTimestamp();
            if (Math.floorMod(distance, 4L) == 0) {
                context.output(DISTANCE, distance);
            }
            out.collect(context.getTimestamp());
        }
    }

    /** Mails wait until the script runs them, whatever their options. */
    private static final class Mails implements MailboxExecutor {
        private final Deque<ThrowingRunnable<? extends Exception>> waiting = new ArrayDeque<>();

        void runNext() throws Exception {
            if (!waiting.isEmpty()) {
                waiting.poll().run();
            }
        }

        @Override
        public void execute(
                MailOptions options, ThrowingRunnable<? extends Exception> command, String format, Object... arguments) {
            waiting.add(command);
        }

        @Override
        public void yield() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean tryYield() {
            return false;
        }

        @Override
        public boolean shouldInterrupt() {
            return !waiting.isEmpty();
        }
    }

    private final class Told implements Output<StreamRecord<Object>> {
        @Override
        public void collect(StreamRecord<Object> record) {
            log.add("rec " + record.getValue() + " " + timestamp(record));
        }

        @Override
        public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
            log.add(tag.getId() + " " + record.getValue() + " " + timestamp(record));
        }

        private Long timestamp(StreamRecord<?> record) {
            return record.hasTimestamp() ? record.getTimestamp() : null;
        }

        @Override
        public void emitWatermark(Watermark mark) {
            log.add("wm " + mark.getTimestamp());
        }

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {
            log.add(status.toString());
        }

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {}

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {}

        @Override
        public void emitWatermark(WatermarkEvent event) {}

        @Override
        public void close() {}
    }

    private final class Context implements StreamOperatorStateContext {
        @Override
        public OptionalLong getRestoredCheckpointId() {
            return OptionalLong.empty();
        }

        @Override
        public OperatorStateBackend operatorStateBackend() {
            return null;
        }

        @Override
        public TypeSerializer<?> keySerializer() {
            return LongSerializer.INSTANCE;
        }

        @Override
        public CheckpointableKeyedStateBackend<?> keyedStateBackend() {
            return backend;
        }

        @Override
        public AsyncKeyedStateBackend<?> asyncKeyedStateBackend() {
            return null;
        }

        @Override
        public InternalTimeServiceManager<?> internalTimerServiceManager() {
            return operator.timeServiceManager;
        }

        @Override
        public InternalTimeServiceManager<?> asyncInternalTimerServiceManager() {
            return null;
        }

        @Override
        public CloseableIterable<StatePartitionStreamProvider> rawOperatorStateInputs() {
            return CloseableIterable.empty();
        }

        @Override
        public CloseableIterable<KeyGroupStatePartitionStreamProvider> rawKeyedStateInputs() {
            return CloseableIterable.empty();
        }
    }
}

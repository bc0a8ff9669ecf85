package org.apache.flink.streaming.api.operators;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.configuration.Configuration;
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
import org.apache.flink.runtime.state.StatePartitionStreamProvider;
import org.apache.flink.runtime.state.UncompressedStreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackend;
import org.apache.flink.runtime.state.heap.HeapKeyedStateBackendBuilder;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.OneInputStreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTaskCancellationContext;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.CloseableIterable;
import org.apache.flink.util.OutputTag;

/**
 * An operator without a task: with a heap backend, real timers, a clock moved by hand, and a log of what it emits. A script
 * of commands is played, each with an answer. Records are longs.
 */
abstract class OperatorWithoutTask implements KeyContext {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int GROUPS = 128;
    private static final KeyGroupRange RANGE = new KeyGroupRange(0, GROUPS - 1);

    final List<String> log = new ArrayList<>();
    final HandTime time = new HandTime();
    final HeapKeyedStateBackend<Object> backend;
    private AbstractStreamOperator<Object> furnished;

    @SuppressWarnings({"unchecked", "rawtypes"})
    OperatorWithoutTask() throws Exception {
        HeapPriorityQueueSetFactory queues = new HeapPriorityQueueSetFactory(RANGE, GROUPS, 128);
        backend =
                new HeapKeyedStateBackendBuilder<Object>(
                                null, (TypeSerializer) LongSerializer.INSTANCE, getClass().getClassLoader(), GROUPS, RANGE,
                                new ExecutionConfig(), System::currentTimeMillis, LatencyTrackingStateConfig.disabled(),
                                SizeTrackingStateConfig.disabled(), Collections.emptyList(),
                                UncompressedStreamCompressionDecorator.INSTANCE,
                                LocalRecoveryConfig.BACKUP_AND_RECOVERY_DISABLED, queues, true, new CloseableRegistry())
                        .build();
    }

    /** Does what a command says. */
    abstract void play(JsonNode command) throws Exception;

    /** What there is in the operator after a command. */
    abstract String state() throws Exception;

    static JsonNode read(String script) throws Exception {
        return JSON.readTree(script);
    }

    /** A list of strings per command, as JSON: what was logged, then the state. The first failure ends it. */
    String answers(JsonNode commands) throws Exception {
        List<List<String>> answers = new ArrayList<>();
        for (JsonNode command : commands) {
            try {
                play(command);
            } catch (Exception thrown) {
                log.add("throws " + thrown.getClass().getSimpleName());
                answers.add(new ArrayList<>(log));
                break;
            }
            log.add(state());
            answers.add(new ArrayList<>(log));
            log.clear();
        }
        return JSON.writeValueAsString(answers);
    }

    /** Gives the operator what its task would. */
    void furnish(AbstractStreamOperator<Object> operator, Configuration configuration) throws Exception {
        furnished = operator;
        operator.metrics = UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup();
        operator.output = new Told();
        operator.setProcessingTimeService(time);
        operator.timeServiceManager =
                InternalTimeServiceManagerImpl.create(
                        UnregisteredMetricGroups.createUnregisteredTaskMetricGroup().getIOMetricGroup(), backend, RANGE,
                        getClass().getClassLoader(), this, time, Collections.emptyList(),
                        StreamTaskCancellationContext.alwaysRunning());
        operator.stateHandler =
                new StreamOperatorStateHandler(new Context(), new ExecutionConfig(), new CloseableRegistry());
        set(AbstractStreamOperator.class, operator, "container", task(configuration));
    }

    InternalTimerServiceImpl<?, ?> timers(String name) {
        return (InternalTimerServiceImpl<?, ?>)
                ((InternalTimeServiceManagerImpl<?>) timeServiceManager()).getRegisteredTimerServices().get(name);
    }

    private InternalTimeServiceManager<?> timeServiceManager() {
        return furnished.timeServiceManager;
    }

    @Override
    public void setCurrentKey(Object key) {
        backend.setCurrentKey(key);
    }

    @Override
    public Object getCurrentKey() {
        return backend.getCurrentKey();
    }

    /** A task that never ran, of whose environment an operator may ask the configuration. */
    private static Object task(Configuration configuration) throws Exception {
        java.lang.reflect.Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object task = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(OneInputStreamTask.class);
        Object environment =
                java.lang.reflect.Proxy.newProxyInstance(
                        OperatorWithoutTask.class.getClassLoader(), new Class<?>[] {Environment.class},
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
            return timeServiceManager();
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

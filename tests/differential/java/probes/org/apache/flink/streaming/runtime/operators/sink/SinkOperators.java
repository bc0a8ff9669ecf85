package org.apache.flink.streaming.runtime.operators.sink;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.StringJoiner;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.TaskInfoImpl;
import org.apache.flink.api.common.functions.util.AbstractRuntimeUDFContext;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.metrics.groups.InternalSinkCommitterMetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContextSynchronousImpl;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.CommittableSummary;
import org.apache.flink.streaming.api.connector.sink2.CommittableWithLineage;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.operators.StreamOperatorStateHandler;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollector;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.OutputTag;

/**
 * The subtasks of a sink: real SinkWriterOperators, each before a real CommitterOperator, without tasks. A script takes
 * checkpoints, ends attempts and restores them with another parallelism. A committable says after its colon what the
 * committer does with it; a record is the committable that the writer makes of it.
 */
public final class SinkOperators {
    private static final SimpleVersionedSerializer<String> STRINGS =
            new SimpleVersionedSerializer<String>() {
                @Override
                public int getVersion() {
                    return 1;
                }

                @Override
                public byte[] serialize(String text) {
                    return text.getBytes(StandardCharsets.UTF_8);
                }

                @Override
                public String deserialize(int version, byte[] bytes) {
                    return new String(bytes, StandardCharsets.UTF_8);
                }
            };

    private final List<String> events = new ArrayList<>();
    private final List<Subtask> subtasks = new ArrayList<>();
    private final int retries;
    private final boolean emits;
    private final boolean checkpoints;
    /** Per old subtask the elements of the committer's list state. */
    private List<List<byte[]>> stored = Collections.emptyList();
    private long storedId = -1;
    /** After an error, commands have no effect until a restart. */
    private boolean failed;

    private SinkOperators(String[] words) {
        retries = Integer.parseInt(words[2]);
        emits = Boolean.parseBoolean(words[3]);
        checkpoints = Boolean.parseBoolean(words[4]);
    }

    /** Answers each line; the first is "job PARALLELISM RETRIES EMITS CHECKPOINTS". */
    public static String run(String script) {
        SinkOperators probe = null;
        StringJoiner answers = new StringJoiner("\n");
        for (String line : script.split("\n")) {
            String[] words = line.split(" ");
            if (probe == null) {
                probe = new SinkOperators(words);
                words[0] = "start";
            }
            answers.add(probe.answer(words));
        }
        return answers.toString();
    }

    private String answer(String[] words) {
        events.clear();
        if (failed && !words[0].equals("restart")) {
            return "";
        }
        failed = false;
        try {
            execute(words);
        } catch (Exception e) {
            failed = true;
            String message = String.valueOf(e.getMessage());
            boolean commit = e instanceof IOException || message.startsWith("Failed to commit");
            events.add(commit ? "!" + message.replaceAll(": \\[.*", "") : "!illegal");
        }
        return String.join(";", events);
    }

    private void execute(String[] words) throws Exception {
        long id = words.length > 1 ? Long.parseLong(words[1]) : 0;
        switch (words[0]) {
            case "start":
                restart((int) id, false);
                break;
            case "write":
                subtasks.get((int) id % subtasks.size()).writer.processElement(new StreamRecord<>(words[2]));
                break;
            case "snapshot":
                List<List<byte[]>> taken = new ArrayList<>();
                for (Subtask each : subtasks) {
                    each.writer.prepareSnapshotPreBarrier(id);
                    each.committer.snapshotState(new StateSnapshotContextSynchronousImpl(id, 0));
                    each.writer.snapshotState(new StateSnapshotContextSynchronousImpl(id, 0));
                    taken.add(each.state.copy());
                }
                stored = taken;
                storedId = id;
                break;
            case "complete":
                for (Subtask each : subtasks) {
                    each.committer.notifyCheckpointComplete(id);
                    each.writer.notifyCheckpointComplete(id);
                }
                break;
            case "end":
                Subtask ended = subtasks.get((int) id % subtasks.size());
                ended.writer.endInput();
                ended.committer.endInput();
                break;
            case "restart":
                restart((int) id, storedId >= 0);
                break;
            default:
                throw new UnsupportedOperationException(words[0]);
        }
    }

    private void restart(int parallelism, boolean restored) throws Exception {
        subtasks.clear();
        for (int index = 0; index < parallelism; index++) {
            Elements state = new Elements();
            if (restored) {
                boolean same = stored.size() == parallelism;
                for (int old = index; old < stored.size(); old += same ? stored.size() : parallelism) {
                    state.elements.addAll(stored.get(old));
                }
            }
            Subtask subtask = new Subtask(index, parallelism, state);
            subtasks.add(subtask);
            subtask.committer.initializeState(context(state, restored));
            subtask.writer.initializeState(context(new Elements(), restored));
        }
    }

    private StateInitializationContext context(Elements state, boolean restored) {
        OperatorStateStore store =
                (OperatorStateStore)
                        Proxy.newProxyInstance(
                                getClass().getClassLoader(), new Class<?>[] {OperatorStateStore.class},
                                (proxy, method, arguments) -> {
                                    String name = ((ListStateDescriptor<?>) arguments[0]).getName();
                                    return name.equals("streaming_committer_raw_states") ? state : new Elements();
                                });
        return (StateInitializationContext)
                Proxy.newProxyInstance(
                        getClass().getClassLoader(), new Class<?>[] {StateInitializationContext.class},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "getOperatorStateStore":
                                    return store;
                                case "isRestored":
                                    return restored;
                                case "getRestoredCheckpointId":
                                    return restored ? OptionalLong.of(storedId) : OptionalLong.empty();
                                default:
                                    throw new UnsupportedOperationException(method.getName());
                            }
                        });
    }

    /** An object without a task or state backend, of which only some fields are used. */
    private static Object empty(Class<?> type) throws Exception {
        Field unsafe = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        return ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(type);
    }

    private static void set(Class<?> type, Object target, String name, Object value) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    /** A writer and the committer behind it. */
    private final class Subtask {
        final Elements state;
        final CommitterOperator<String> committer;
        final SinkWriterOperator<String, String> writer;

        @SuppressWarnings("unchecked")
        Subtask(int index, int parallelism, Elements state) throws Exception {
            this.state = state;
            committer =
                    new CommitterOperator<>(
                            null, (ProcessingTimeService) stub(ProcessingTimeService.class), STRINGS,
                            context -> new LoggingCommitter(index), emits, false, checkpoints);
            furnish(committer, index, parallelism, new Behind(index + " out "));
            InternalSinkCommitterMetricGroup metrics =
                    InternalSinkCommitterMetricGroup.wrap(UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());
            set(CommitterOperator.class, committer, "metricGroup", metrics);
            set(CommitterOperator.class, committer, "committableCollector", CommittableCollector.of(metrics));
            set(CommitterOperator.class, committer, "maxRetries", retries);
            writer =
                    new SinkWriterOperator<>(
                            null, new PairSink(), (ProcessingTimeService) stub(ProcessingTimeService.class),
                            (MailboxExecutor) stub(MailboxExecutor.class));
            furnish(writer, index, parallelism, new Behind(index + " sends ") {
                        @Override
                        public void collect(StreamRecord<CommittableMessage<String>> record) {
                            super.collect(record);
                            try {
                                committer.processElement(record);
                            } catch (Exception e) {
                                throw new IllegalStateException(e);
                            }
                        }
                    });
        }

        private void furnish(
                AbstractStreamOperator<CommittableMessage<String>> operator, int index, int parallelism, Behind output)
                throws Exception {
            Object context = empty(StreamingRuntimeContext.class);
            TaskInfo info = new TaskInfoImpl("sink", 128, index, parallelism, 0);
            set(AbstractRuntimeUDFContext.class, context, "taskInfo", info);
            set(AbstractStreamOperator.class, operator, "runtimeContext", context);
            set(AbstractStreamOperator.class, operator, "metrics", UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup());
            set(AbstractStreamOperator.class, operator, "output", output);
            set(AbstractStreamOperator.class, operator, "config", new StreamConfig(new Configuration()));
            set(AbstractStreamOperator.class, operator, "stateHandler", empty(StreamOperatorStateHandler.class));
        }

        private Object stub(Class<?> type) {
            return Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {type},
                    (proxy, method, arguments) -> {
                        throw new UnsupportedOperationException(method.getName());
                    });
        }
    }

    /** A list state of one operator subtask. */
    private static final class Elements implements ListState<byte[]> {
        final List<byte[]> elements = new ArrayList<>();

        List<byte[]> copy() {
            return new ArrayList<>(elements);
        }

        @Override
        public void update(List<byte[]> values) {
            elements.clear();
            elements.addAll(values);
        }

        @Override
        public void addAll(List<byte[]> values) {
            elements.addAll(values);
        }

        @Override
        public Iterable<byte[]> get() {
            return elements;
        }

        @Override
        public void add(byte[] value) {
            elements.add(value);
        }

        @Override
        public void clear() {
            elements.clear();
        }
    }

    private final class PairSink implements Sink<String>, SupportsCommitter<String> {
        @Override
        public SinkWriter<String> createWriter(WriterInitContext context) {
            int index = context.getTaskInfo().getIndexOfThisSubtask();
            events.add(index + " writer from " + context.getRestoredCheckpointId().orElse(-1));
            return new Writer(index);
        }

        @Override
        public Committer<String> createCommitter(CommitterInitContext context) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SimpleVersionedSerializer<String> getCommittableSerializer() {
            return STRINGS;
        }
    }

    private final class Writer implements CommittingSinkWriter<String, String> {
        private final int index;
        private final List<String> values = new ArrayList<>();

        Writer(int index) {
            this.index = index;
        }

        @Override
        public void write(String value, Context context) {
            values.add(value);
        }

        @Override
        public void flush(boolean endOfInput) {
            events.add(index + " flush " + endOfInput);
        }

        @Override
        public Collection<String> prepareCommit() {
            List<String> prepared = new ArrayList<>(values);
            values.clear();
            return prepared;
        }

        @Override
        public void close() {}
    }

    private final class LoggingCommitter implements Committer<String> {
        private final int index;

        LoggingCommitter(int index) {
            this.index = index;
        }

        @Override
        public void commit(Collection<CommitRequest<String>> requests) {
            StringJoiner batch = new StringJoiner(" ", index + " commit ", "");
            for (CommitRequest<String> request : requests) {
                String committable = request.getCommittable();
                batch.add(committable);
                String behaviour = committable.substring(committable.indexOf(':') + 1);
                switch (behaviour) {
                    case "already":
                        request.signalAlreadyCommitted();
                        break;
                    case "failed":
                        request.signalFailedWithKnownReason(new RuntimeException("known"));
                        break;
                    case "unknown":
                        events.add(batch.toString());
                        request.signalFailedWithUnknownReason(new RuntimeException("unknown"));
                        break;
                    case "forever":
                        request.retryLater();
                        break;
                    case "update":
                        request.updateAndRetryLater(committable.replace(":update", "':ok"));
                        break;
                    case "retry1":
                    case "retry2":
                        if (request.getNumberOfRetries() < behaviour.charAt(5) - '0') {
                            request.retryLater();
                        }
                        break;
                    default:
                }
            }
            events.add(batch.toString());
        }

        @Override
        public void close() {}
    }

    private class Behind implements Output<StreamRecord<CommittableMessage<String>>> {
        private final String prefix;

        Behind(String prefix) {
            this.prefix = prefix;
        }

        @Override
        public void collect(StreamRecord<CommittableMessage<String>> record) {
            CommittableMessage<String> message = record.getValue();
            if (message instanceof CommittableSummary) {
                CommittableSummary<String> summary = (CommittableSummary<String>) message;
                events.add(
                        prefix + "summary " + summary.getCheckpointIdOrEOI() + " " + summary.getSubtaskId() + " "
                                + summary.getNumberOfSubtasks() + " " + summary.getNumberOfCommittables());
            } else {
                CommittableWithLineage<String> one = (CommittableWithLineage<String>) message;
                events.add(prefix + one.getCommittable() + " " + one.getCheckpointIdOrEOI() + " " + one.getSubtaskId());
            }
        }

        @Override
        public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void emitWatermark(Watermark mark) {}

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {}

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {}

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {}

        @Override
        public void emitWatermark(WatermarkEvent event) {}

        @Override
        public void close() {}
    }
}

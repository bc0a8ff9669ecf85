package flowsim.conform;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.legacy.YieldingOperatorFactory;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeServiceAware;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/** Makes the operators of a job, each behind a proxy that notes what the operator gets. */
class Seen<OUT> extends AbstractStreamOperatorFactory<OUT>
        implements OneInputStreamOperatorFactory<Long, OUT>, TwoInputStreamOperatorFactory<Long, Long, OUT> {
    private static final ConcurrentSkipListMap<String, List<String>> EVENTS = new ConcurrentSkipListMap<>();

    private static final AtomicLong NOTIFICATIONS = new AtomicLong();
    private static volatile Set<Integer> heads = Set.of();

    private final StreamOperatorFactory<OUT> factory;
    private final int node;

    private Seen(StreamOperatorFactory<OUT> factory, int node) {
        this.factory = factory;
        this.node = node;
        setChainingStrategy(factory.getChainingStrategy());
    }

    static <T> Seen<T> of(StreamOperatorFactory<T> factory, int node) {
        return factory instanceof YieldingOperatorFactory ? new Yielding<>(factory, node) : new Seen<>(factory, node);
    }

    static void clear() {
        EVENTS.clear();
    }

    /** By {@code node/subtask}: {@code attempt time kind ...}, the time in ns. */
    static Map<String, List<String>> events() {
        return new ConcurrentSkipListMap<>(EVENTS);
    }

    static void note(String place, Object... words) {
        StringBuilder event = new StringBuilder();
        for (Object word : words) {
            event.append(event.length() == 0 ? "" : " ").append(word);
        }
        EVENTS.computeIfAbsent(place, ignored -> Collections.synchronizedList(new ArrayList<>())).add(event.toString());
    }

    /** The nodes at the heads of chains. */
    static void setHeads(Collection<Integer> nodes) {
        heads = Set.copyOf(nodes);
    }

    /** How many tasks were told that a checkpoint is complete. */
    static long notifications() {
        return NOTIFICATIONS.get();
    }

    static void notified(int node) {
        if (heads.contains(node)) {
            NOTIFICATIONS.incrementAndGet();
        }
    }

    static int attemptOf(SourceReaderContext context) throws ReflectiveOperationException {
        return ManualTime.taskOf(context).getEnvironment().getTaskInfo().getAttemptNumber();
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends StreamOperator<OUT>> T createStreamOperator(StreamOperatorParameters<OUT> given) {
        StreamTask<?, ?> task = given.getContainingTask();
        try {
            ManualTime.useFor(task, given.getProcessingTimeService());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        if (factory instanceof YieldingOperatorFactory) {
            ((YieldingOperatorFactory<?>) factory).setMailboxExecutor(given.getMailboxExecutor());
        }
        if (factory instanceof ProcessingTimeServiceAware) {
            ((ProcessingTimeServiceAware) factory).setProcessingTimeService(given.getProcessingTimeService());
        }
        StreamOperator<OUT> operator = factory.createStreamOperator(given);
        int subtask = task.getEnvironment().getTaskInfo().getIndexOfThisSubtask();
        int attempt = task.getEnvironment().getTaskInfo().getAttemptNumber();
        Watched watched = new Watched(operator, node, subtask, attempt);
        return (T) Proxy.newProxyInstance(Seen.class.getClassLoader(), watched.interfaces(), watched::invoke);
    }

    @Override
    public boolean isOutputTypeConfigurable() {
        return factory.isOutputTypeConfigurable();
    }

    @Override
    public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
        return factory.getStreamOperatorClass(loader);
    }

    /** Replaces the factory of a transformation. */
    static void watch(org.apache.flink.api.dag.Transformation<?> transformation, int node) {
        try {
            Field field = transformation.getClass().getDeclaredField("operatorFactory");
            field.setAccessible(true);
            field.set(transformation, of((StreamOperatorFactory<?>) field.get(transformation), node));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** For operators that yield to the mailbox, which chains know by their factory. */
    private static final class Yielding<OUT> extends Seen<OUT> implements YieldingOperatorFactory<OUT> {
        Yielding(StreamOperatorFactory<OUT> factory, int node) {
            super(factory, node);
        }
    }

    private static final class Watched {
        private final StreamOperator<?> operator;
        private final int node;
        private final int subtask;
        private final String place;
        private final int attempt;
        private final Failures failures;
        private long records;

        Watched(StreamOperator<?> operator, int node, int subtask, int attempt) {
            this.operator = operator;
            this.node = node;
            this.subtask = subtask;
            this.place = node + "/" + subtask;
            this.attempt = attempt;
            this.failures = Failures.of(node, subtask, attempt);
        }

        Class<?>[] interfaces() {
            Set<Class<?>> found = new LinkedHashSet<>();
            for (Class<?> type = operator.getClass(); type != null; type = type.getSuperclass()) {
                for (Class<?> each : type.getInterfaces()) {
                    if (java.lang.reflect.Modifier.isPublic(each.getModifiers())) {
                        found.add(each);
                    }
                }
            }
            return found.toArray(new Class<?>[0]);
        }

        Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "processElement":
                case "processElement1":
                    record((StreamRecord<?>) arguments[0], 0);
                    break;
                case "processElement2":
                    record((StreamRecord<?>) arguments[0], 1);
                    break;
                case "processWatermark":
                case "processWatermark1":
                case "processWatermark2":
                    if (arguments[0] instanceof Watermark) {
                        int input = method.getName().endsWith("2") ? 1 : 0;
                        note(place, attempt, ManualTime.nowNanos(), "w", input, ((Watermark) arguments[0]).getTimestamp());
                    }
                    break;
                case "processWatermarkStatus":
                case "processWatermarkStatus1":
                case "processWatermarkStatus2":
                    int input = method.getName().endsWith("2") ? 1 : 0;
                    boolean isActive = ((WatermarkStatus) arguments[0]).isActive();
                    note(place, attempt, ManualTime.nowNanos(), "s", input, isActive ? "ACTIVE" : "IDLE");
                    break;
                case "snapshotState":
                    failures.inSnapshot((Long) arguments[0]);
                    break;
                case "notifyCheckpointComplete":
                    notified(node);
                    failures.inNotification((Long) arguments[0]);
                    break;
                default:
            }
            try {
                return method.invoke(operator, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }

        private void record(StreamRecord<?> record, int input) {
            failures.beforeRecord(records++);
            Object timestamp = record.hasTimestamp() ? record.getTimestamp() : "-";
            note(place, attempt, ManualTime.nowNanos(), "r", input, record.getValue(), timestamp);
            Pauses.beforeRecord(node, subtask);
        }
    }
}

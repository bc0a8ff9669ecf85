package flowsim.conform;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.TimerService;
import org.apache.flink.util.clock.Clock;

/**
 * The processing time of a task, which stands still until {@link Conductor} moves it. As with Flink's own a timer fires one
 * millisecond after its time, at once when that has passed: before the task reads on. What functions ask for ({@link #after})
 * happens to the nanosecond, so that it need not meet anything else.
 */
final class ManualTime implements TimerService {
    /** When a job starts, in ms: where the virtual time of flowsim does. */
    static final long START = 1000;

    private static final PriorityQueue<Alarm> ALARMS = new PriorityQueue<>();
    /** The time in ns since which it is stopped, by the time of the machine in ms after which it stops. */
    private static final NavigableMap<Long, Long> MOVES = new TreeMap<>();
    private static final long NANOS = 1_000_000;
    private static final long MOMENTS = 1000;
    private static final long FIRST = -1;
    private static final long LAST = Long.MAX_VALUE;
    private static long now;
    private static long made;
    private final StreamTask<?, ?> task;
    private boolean terminated;

    private ManualTime(StreamTask<?, ?> task) {
        this.task = task;
    }

    /** Lets a task use this time from now on. */
    static void useFor(StreamTask<?, ?> task) {
        try {
            Field service = StreamTask.class.getDeclaredField("timerService");
            service.setAccessible(true);
            if (!(service.get(task) instanceof ManualTime)) {
                ((TimerService) service.get(task)).shutdownService();
                service.set(task, new ManualTime(task));
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The time of a task, also of one that does not use it. */
    static TimerService of(StreamTask<?, ?> task) throws ReflectiveOperationException {
        Object used = Conductor.field(StreamTask.class, task, "timerService");
        return used instanceof ManualTime ? (ManualTime) used : new ManualTime(task);
    }

    /** The same for the task of a source and its operator. */
    static void useFor(SourceReaderContext context) throws ReflectiveOperationException {
        Object times = Conductor.field(AbstractStreamOperator.class, operatorOf(context), "processingTimeService");
        useFor(taskOf(context), (ProcessingTimeService) times);
    }

    /** Lets a task use this time, and an operator of it, whose service is there already: the task ends it when the operator ends. */
    static void useFor(StreamTask<?, ?> task, ProcessingTimeService times) throws ReflectiveOperationException {
        useFor(task);
        Field service = times.getClass().getDeclaredField("timerService");
        service.setAccessible(true);
        service.set(times, Conductor.field(StreamTask.class, task, "timerService"));
    }

    static StreamTask<?, ?> taskOf(SourceReaderContext context) throws ReflectiveOperationException {
        return (StreamTask<?, ?>) Conductor.field(AbstractStreamOperator.class, operatorOf(context), "container");
    }

    private static Object operatorOf(SourceReaderContext context) throws ReflectiveOperationException {
        return Conductor.field(context.getClass(), context, "this$0");
    }

    static synchronized void reset() {
        ALARMS.clear();
        MOVES.clear();
        now = START * NANOS;
        made = 0;
    }

    /** The time of the next moment in ns; the highest number when there is none. */
    static synchronized long nextNanos() {
        return ALARMS.isEmpty() ? Long.MAX_VALUE : ALARMS.peek().due;
    }

    /**
     * Goes to the next moment, and fires what was asked for first of what is due then: the rest of the moment comes when
     * nobody has anything to do for it.
     */
    static void fireNext() {
        Alarm alarm;
        synchronized (ManualTime.class) {
            alarm = ALARMS.poll();
            now = Math.max(now, alarm.due);
            MOVES.put(System.currentTimeMillis(), now);
        }
        alarm.fire();
    }

    /** Runs {@code action} on the thread that moves time, after this time. */
    static synchronized void after(long nanos, Runnable action) {
        ALARMS.add(new Alarm(0, now + nanos, 0, LAST, made++, timestamp -> action.run()));
    }

    /** Runs an action of the job at a time of its clock, behind what else is due then. */
    static synchronized void at(long due, Runnable action) {
        ALARMS.add(new Alarm(0, due + 2, 0, LAST, made++, timestamp -> action.run()));
    }

    /**
     * Wakes a source at a time of the clock, before what else is due then. Those of one moment are woken by node and subtask,
     * not as their threads happened to ask.
     */
    static synchronized void wakeAt(long due, int node, int subtask, Runnable action) {
        ALARMS.add(new Alarm(0, due, 0, ((long) node << 20) + subtask, made++, timestamp -> action.run()));
    }

    private static synchronized Alarm add(
            long timestamp, long due, long period, long rank, ProcessingTimeCallback callback) {
        Alarm alarm = new Alarm(timestamp, due, period, rank, made++, callback);
        ALARMS.add(alarm);
        return alarm;
    }

    /** A timer whose time has passed. That of a task which is restored fires when all tasks run, before sources emit. */
    private Alarm addPast(long timestamp, ProcessingTimeCallback callback) {
        if (!task.isRunning()) {
            return add(timestamp, nowNanos(), 0, FIRST, callback);
        }
        Alarm alarm = new Alarm(timestamp, nowNanos(), 0, FIRST, 0, callback);
        alarm.fire();
        return alarm;
    }

    /** How many ms have passed since what happened at this time of the machine. */
    static synchronized long passedSince(long machineMillis) {
        Map.Entry<Long, Long> last = MOVES.lowerEntry(machineMillis);
        return now() - (last == null ? START : last.getValue() / NANOS);
    }

    private static synchronized long now() {
        return now / NANOS;
    }

    /** The time in ns without the moments by which one thing is behind another. */
    static synchronized long instant() {
        return now / MOMENTS * MOMENTS;
    }

    static synchronized long nowNanos() {
        return now;
    }

    @Override
    public Clock getClock() {
        return new Clock() {
            @Override
            public long absoluteTimeMillis() {
                return now();
            }

            @Override
            public long relativeTimeMillis() {
                return now();
            }

            @Override
            public long relativeTimeNanos() {
                return nowNanos();
            }
        };
    }

    @Override
    public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback target) {
        long current = now();
        if (timestamp < current) {
            return addPast(timestamp, target);
        }
        boolean isNever = timestamp >= Long.MAX_VALUE / NANOS;
        long due = isNever ? Long.MAX_VALUE : nowNanos() + (timestamp - current + 1) * NANOS;
        return add(timestamp, due, 0, LAST, target);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(ProcessingTimeCallback callback, long initialDelay, long period) {
        // A moment later, as by a thread: behind what else is due then.
        return add(now() + initialDelay, nowNanos() + initialDelay * NANOS + 1, period, LAST, callback);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(ProcessingTimeCallback callback, long initialDelay, long period) {
        return scheduleAtFixedRate(callback, initialDelay, period);
    }

    @Override
    public CompletableFuture<Void> quiesce() {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public boolean isTerminated() {
        return terminated;
    }

    @Override
    public void shutdownService() {
        terminated = true;
    }

    @Override
    public boolean shutdownServiceUninterruptible(long timeoutMs) {
        terminated = true;
        return true;
    }

    private static final class Alarm extends FutureTask<Void> implements RunnableScheduledFuture<Void> {
        private final long timestamp;
        private final long due;
        private final long period;
        private final long rank;
        private final long number;
        private final ProcessingTimeCallback callback;

        Alarm(long timestamp, long due, long period, long rank, long number, ProcessingTimeCallback callback) {
            super(() -> null);
            this.timestamp = timestamp;
            this.due = due;
            this.period = period;
            this.rank = rank;
            this.number = number;
            this.callback = callback;
        }

        void fire() {
            if (isCancelled()) {
                return;
            }
            try {
                callback.onProcessingTime(timestamp);
            } catch (RejectedExecutionException taskHasEnded) {
                return;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            if (period > 0) {
                add(timestamp + period, due + period * NANOS, period, LAST, callback);
            }
        }

        @Override
        public boolean isPeriodic() {
            return period > 0;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - nowNanos(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            Alarm that = (Alarm) other;
            int order = Long.compare(due, that.due);
            order = order != 0 ? order : Long.compare(rank, that.rank);
            return order != 0 ? order : Long.compare(number, that.number);
        }
    }
}

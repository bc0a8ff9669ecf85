package flowsim.jobs.described;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.streaming.runtime.tasks.TimerService;
import org.apache.flink.util.clock.Clock;

/**
 * The processing time of a task, which stands still until {@link Steps} moves it. As with Flink's own a timer fires one
 * millisecond after its time, at once when that has passed. What functions ask for ({@link #after}) happens to the
 * nanosecond, so that it need not meet anything else.
 */
final class ManualTime implements TimerService {
    /** When a job starts, in ms: where the virtual time of flowsim does. */
    static final long START = 1000;

    private static final PriorityQueue<Alarm> ALARMS = new PriorityQueue<>();
    private static final long NANOS = 1_000_000;
    private static long now;
    private static long made;
    private static boolean oneByOne;
    private static final List<Long> MOMENTS = new ArrayList<>();
    private static final List<Long> RETRIES = new ArrayList<>();
    private boolean terminated;

    /** With {@code oneAtATime} those of one moment are apart, too: what the first sets going is over before the next. */
    static synchronized void reset(boolean oneAtATime) {
        ALARMS.clear();
        oneByOne = oneAtATime;
        now = START * NANOS;
        made = 0;
        MOMENTS.clear();
        RETRIES.clear();
    }

    /** When timers fired and calls were answered, in ns; a moment at which several things happened is there as often. */
    static synchronized List<Long> moments() {
        return new ArrayList<>(MOMENTS);
    }

    static synchronized void retried() {
        RETRIES.add(now);
    }

    /** When calls were tried again, in ns. */
    static synchronized List<Long> retries() {
        return new ArrayList<>(RETRIES);
    }

    /** Fires the timers of the earliest moment up to {@code until}; false, and it is {@code until}, when there is none. */
    static boolean fireNext(long until) throws Exception {
        return fireNextNanos(until * NANOS);
    }

    /** Fires the timers of the earliest moment there is; false when there is none. */
    static boolean fireNext() throws Exception {
        synchronized (ManualTime.class) {
            if (ALARMS.isEmpty()) {
                return false;
            }
        }
        return fireNextNanos(Long.MAX_VALUE);
    }

    /** Runs {@code action} on the thread that moves time. */
    static synchronized void after(long nanos, Runnable action) {
        long due = now + nanos;
        ALARMS.add(new Alarm(0, due, 0, made++, timestamp -> action.run()));
    }

    private static boolean fireNextNanos(long until) throws Exception {
        long moment;
        synchronized (ManualTime.class) {
            Alarm next = ALARMS.peek();
            if (next == null || next.due > until) {
                now = until;
                return false;
            }
            moment = now = next.due;
        }
        while (true) {
            Alarm alarm;
            synchronized (ManualTime.class) {
                alarm = ALARMS.peek();
                if (alarm == null || alarm.due > moment) {
                    return true;
                }
                ALARMS.poll();
                if (!alarm.isCancelled()) {
                    MOMENTS.add(alarm.due);
                }
            }
            alarm.fire();
            if (oneByOne) {
                return true;
            }
        }
    }

    private static synchronized Alarm add(long timestamp, long due, long period, ProcessingTimeCallback callback) {
        Alarm alarm = new Alarm(timestamp, due, period, made++, callback);
        ALARMS.add(alarm);
        return alarm;
    }

    private static synchronized long now() {
        return now / NANOS;
    }

    private static synchronized long nowNanos() {
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
        boolean isNever = timestamp >= Long.MAX_VALUE / NANOS;
        long due = isNever ? Long.MAX_VALUE : nowNanos() + (timestamp < current ? 0 : timestamp - current + 1) * NANOS;
        return add(timestamp, due, 0, target);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(ProcessingTimeCallback callback, long initialDelay, long period) {
        return add(now() + initialDelay, nowNanos() + initialDelay * NANOS, period, callback);
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
        private final long number;
        private final ProcessingTimeCallback callback;

        Alarm(long timestamp, long due, long period, long number, ProcessingTimeCallback callback) {
            super(() -> null);
            this.timestamp = timestamp;
            this.due = due;
            this.period = period;
            this.number = number;
            this.callback = callback;
        }

        void fire() throws Exception {
            if (isCancelled()) {
                return;
            }
            try {
                callback.onProcessingTime(timestamp);
            } catch (RejectedExecutionException taskHasEnded) {
                return;
            }
            if (period > 0) {
                add(timestamp + period, due + period * NANOS, period, callback);
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
            return due != that.due ? Long.compare(due, that.due) : Long.compare(number, that.number);
        }
    }
}

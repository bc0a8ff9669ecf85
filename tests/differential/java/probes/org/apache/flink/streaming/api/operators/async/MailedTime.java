package org.apache.flink.streaming.api.operators.async;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.clock.ManualClock;

/** Processing time moved by hand: what is due becomes a mail of the operator, as a timer thread of a task would have it. */
final class MailedTime implements ProcessingTimeService {
    private final ManualClock clock = new ManualClock(0);
    private final List<Registered> timers = new ArrayList<>();
    private final MailboxExecutor mails;
    private final long lag;

    /** A timer fires so many ms after its time: 1 on a cluster, 0 in a test harness. */
    MailedTime(MailboxExecutor mails, long startMs, long lagMs) {
        this.mails = mails;
        lag = lagMs;
        clock.advanceTime(startMs, TimeUnit.MILLISECONDS);
    }

    void advance(long byMs) {
        clock.advanceTime(byMs, TimeUnit.MILLISECONDS);
        fire();
    }

    /** What is due by now; a timer set in the past is due at once, but fires when time is looked at. */
    void fire() {
        timers.removeIf(Registered::isCancelled);
        List<Registered> due =
                timers.stream()
                        .filter(timer -> timer.firesAt <= getCurrentProcessingTime())
                        .sorted(Comparator.comparingLong(timer -> timer.firesAt))
                        .collect(Collectors.toList());
        for (Registered timer : due) {
            timers.remove(timer);
            mails.execute(() -> timer.callback.onProcessingTime(timer.at), "timer");
        }
    }

    List<Long> live() {
        return timers.stream().filter(timer -> !timer.isCancelled()).map(timer -> timer.at).sorted().collect(Collectors.toList());
    }

    @Override
    public Clock getClock() {
        return clock;
    }

    @Override
    public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback target) {
        long now = getCurrentProcessingTime();
        Registered timer = new Registered(timestamp, timestamp >= now ? timestamp + lag : now, target);
        timers.add(timer);
        return timer;
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(ProcessingTimeCallback callback, long initialDelay, long period) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(ProcessingTimeCallback callback, long initialDelay, long period) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> quiesce() {
        return CompletableFuture.completedFuture(null);
    }

    private static final class Registered extends FutureTask<Void> implements ScheduledFuture<Void> {
        private final long at;
        private final long firesAt;
        private final ProcessingTimeCallback callback;

        Registered(long at, long firesAt, ProcessingTimeCallback callback) {
            super(() -> null);
            this.at = at;
            this.firesAt = firesAt;
            this.callback = callback;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}

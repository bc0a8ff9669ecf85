package org.apache.flink.streaming.api.operators;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.clock.ManualClock;

/** Processing time that only moves when told to, from 1 ms on; then it runs what is due, in the order of time. */
final class HandTime implements ProcessingTimeService {
    private final ManualClock clock = new ManualClock(1_000_000);
    private final List<Registered> timers = new ArrayList<>();

    void advance(long nowMs) throws Exception {
        clock.advanceTime(until(nowMs), TimeUnit.MILLISECONDS);
        while (true) {
            timers.removeIf(Registered::isCancelled);
            Registered due =
                    timers.stream()
                            .filter(timer -> timer.at <= nowMs)
                            .min(Comparator.comparingLong(timer -> timer.at))
                            .orElse(null);
            if (due == null) {
                return;
            }
            timers.remove(due);
            due.callback.onProcessingTime(due.at);
        }
    }

    private long until(long nowMs) {
        return Math.max(0, nowMs - getCurrentProcessingTime());
    }

    @Override
    public Clock getClock() {
        return clock;
    }

    @Override
    public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback target) {
        Registered timer = new Registered(timestamp, target);
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
        private final ProcessingTimeCallback callback;

        Registered(long at, ProcessingTimeCallback callback) {
            super(() -> null);
            this.at = at;
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

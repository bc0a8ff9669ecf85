package flowsim.differential;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.util.clock.Clock;
import org.apache.flink.util.clock.ManualClock;

/** Processing time moved by hand: what is due runs in the order of time, and of registration. */
public final class Beats implements ProcessingTimeService {
    private static final class Beat {
        private final ProcessingTimeCallback callback;
        private final long periodMillis;
        private long dueMillis;

        Beat(ProcessingTimeCallback callback, long dueMillis, long periodMillis) {
            this.callback = callback;
            this.dueMillis = dueMillis;
            this.periodMillis = periodMillis;
        }
    }

    public final ManualClock clock = new ManualClock(1_000_000L);
    private final List<Beat> beats = new ArrayList<>();

    public void advanceTo(long millis) throws Exception {
        long now = getCurrentProcessingTime();
        clock.advanceTime(millis - now, TimeUnit.MILLISECONDS);
        while (true) {
            Beat next = null;
            for (Beat beat : beats) {
                if (beat.dueMillis <= millis && (next == null || beat.dueMillis < next.dueMillis)) {
                    next = beat;
                }
            }
            if (next == null) {
                return;
            }
            long due = next.dueMillis;
            beats.remove(next);
            next.callback.onProcessingTime(due);
            if (next.periodMillis > 0) {
                next.dueMillis = due + ((millis - due) / next.periodMillis + 1) * next.periodMillis;
                beats.add(next);
            }
        }
    }

    @Override
    public Clock getClock() {
        return clock;
    }

    @Override
    public long getCurrentProcessingTime() {
        return clock.absoluteTimeMillis();
    }

    @Override
    public ScheduledFuture<?> registerTimer(long timestamp, ProcessingTimeCallback target) {
        beats.add(new Beat(target, timestamp, 0));
        return null;
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(ProcessingTimeCallback callback, long initialDelay, long period) {
        return scheduleWithFixedDelay(callback, initialDelay, period);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(ProcessingTimeCallback callback, long initialDelay, long period) {
        beats.add(new Beat(callback, getCurrentProcessingTime() + initialDelay, period));
        return null;
    }

    @Override
    public CompletableFuture<Void> quiesce() {
        return CompletableFuture.completedFuture(null);
    }
}

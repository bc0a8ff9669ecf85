package org.apache.flink.runtime.checkpoint;

import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.concurrent.ComponentMainThreadExecutor;

/** Runs every action in the thread of the caller. */
public final class DirectMainThread implements ComponentMainThreadExecutor {
    @Override
    public void assertRunningInMainThread() {}

    @Override
    public void execute(Runnable action) {
        action.run();
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> action, long delay, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable action, long delay, long period, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable action, long delay, long pause, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }
}

package org.apache.flink.runtime.checkpoint;

import java.util.PriorityQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.util.clock.ManualClock;
import org.apache.flink.util.concurrent.ScheduledExecutor;

/** One thread in virtual time: actions of the same time run in the order of their calls. */
final class VirtualTimeExecutor implements ScheduledExecutor {
    private final ManualClock clock;
    private final PriorityQueue<Item> queue = new PriorityQueue<>();
    private long items;

    VirtualTimeExecutor(ManualClock clock) {
        this.clock = clock;
    }

    private final class Item extends FutureTask<Object> implements ScheduledFuture<Object> {
        private final long time;
        private final long number = items++;

        @SuppressWarnings("unchecked")
        private Item(Callable<?> action, long time) {
            super((Callable<Object>) action);
            this.time = time;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(time - clock.relativeTimeMillis(), TimeUnit.MILLISECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            Item item = (Item) other;
            return time != item.time ? Long.compare(time, item.time) : Long.compare(number, item.number);
        }
    }

    private Item add(Callable<?> action, long delayMillis) {
        Item item = new Item(action, clock.relativeTimeMillis() + Math.max(0, delayMillis));
        queue.add(item);
        return item;
    }

    @Override
    public void execute(Runnable action) {
        add(Executors.callable(action), 0);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
        return add(Executors.callable(action), unit.toMillis(delay));
    }

    @Override
    @SuppressWarnings("unchecked")
    public <V> ScheduledFuture<V> schedule(Callable<V> action, long delay, TimeUnit unit) {
        return (ScheduledFuture<V>) (ScheduledFuture<?>) add(action, unit.toMillis(delay));
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable action, long delay, long period, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable action, long delay, long pause, TimeUnit unit) {
        throw new UnsupportedOperationException();
    }

    /** Runs everything up to a time, which is the time afterwards. */
    void runUntil(long time) throws ExecutionException, InterruptedException {
        while (!queue.isEmpty() && queue.peek().time <= time) {
            Item item = queue.poll();
            advanceTo(item.time);
            if (!item.isCancelled()) {
                item.run();
                try {
                    item.get();
                } catch (CancellationException e) {
                    // It cancelled itself.
                }
            }
        }
        advanceTo(time);
    }

    private void advanceTo(long time) {
        long now = clock.relativeTimeMillis();
        if (time > now) {
            clock.advanceTime(time - now, TimeUnit.MILLISECONDS);
        }
    }
}

package flowsim.conform;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Subtasks that stand still for a time: in the first record that comes to them in it. */
final class Pauses {
    private static final Set<Thread> PAUSED = ConcurrentHashMap.newKeySet();
    private static final AtomicInteger SOURCES = new AtomicInteger();
    private static volatile JsonNode all;

    private Pauses() {}

    static void set(JsonNode pauses) {
        all = pauses;
        PAUSED.clear();
        SOURCES.set(0);
    }

    static boolean areNone() {
        return all.isEmpty();
    }

    /** How many threads of source functions pause. */
    static int sources() {
        return SOURCES.get();
    }

    static boolean isPaused(Thread thread) {
        return PAUSED.contains(thread);
    }

    /** Waits if this subtask of a node pauses now. */
    static void beforeRecord(int node, int subtask) {
        for (JsonNode pause : all) {
            boolean isMeant = !pause.hasNonNull("subtask") || pause.get("subtask").asInt() == subtask;
            if (isMeant && pause.get("node").asInt() == node && isNow(pause)) {
                await(pause.get("to_ns").asLong(), node, subtask);
            }
        }
    }

    private static boolean isNow(JsonNode pause) {
        long now = ManualTime.nowNanos();
        return pause.get("from_ns").asLong() <= now && now < pause.get("to_ns").asLong();
    }

    private static void await(long due, int node, int subtask) {
        Thread thread = Thread.currentThread();
        CountDownLatch latch = new CountDownLatch(1);
        // Timers of the task that are due at the end of the pause come before it goes on.
        ManualTime.wakeAt(
                due + 2,
                node,
                subtask,
                () -> {
                    end(thread);
                    latch.countDown();
                });
        PAUSED.add(thread);
        if (isSource(thread)) {
            SOURCES.incrementAndGet();
        }
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("the task was cancelled in a pause", e);
        } finally {
            end(thread);
        }
    }

    private static void end(Thread thread) {
        if (PAUSED.remove(thread) && isSource(thread)) {
            SOURCES.decrementAndGet();
        }
    }

    private static boolean isSource(Thread thread) {
        return thread.getName().startsWith("Legacy Source Thread");
    }
}

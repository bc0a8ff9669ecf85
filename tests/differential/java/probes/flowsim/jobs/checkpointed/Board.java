package flowsim.jobs.checkpointed;

import flowsim.jobs.Log;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** What all subtasks of a job share: the step of the scripts, what was counted, and the snapshot for the next phase. */
final class Board {
    static final ObjectMapper JSON = new ObjectMapper();
    static final AtomicInteger STEP = new AtomicInteger();
    /** Records that operators have received. */
    static final AtomicInteger ARRIVED = new AtomicInteger();

    private static final ConcurrentHashMap<String, AtomicInteger> COUNTS = new ConcurrentHashMap<>();
    private static final Set<String> FIRED = ConcurrentHashMap.newKeySet();
    private static final int RELEASE_MS = 60;
    private static final int LONGEST_SECONDS = 20;
    private static final ScheduledExecutorService TIMER =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work);
                        thread.setDaemon(true);
                        return thread;
                    });

    static volatile int checkpointStep;
    static volatile int phase;
    static volatile int sources;
    static volatile int expectedOpens;
    static volatile int expectedNotifications;
    static volatile boolean inputHasEnded;
    static volatile String folder;
    static volatile MiniCluster cluster;
    static volatile JobID job;
    static volatile boolean hasEnded;
    static volatile String snapshot;
    static volatile CompletableFuture<?> stop;
    static volatile int alignedTimeout;
    /** Operators wait for it in their next element; null: they do not wait. */
    private static volatile CountDownLatch held;

    private Board() {}

    static void begin(int number, String snapshots) {
        phase = number;
        folder = snapshots;
        cluster = null;
        inputHasEnded = false;
        hasEnded = false;
        snapshot = null;
        stop = null;
        release();
        COUNTS.clear();
        if (number == 0) {
            FIRED.clear();
            STEP.set(0);
            checkpointStep = 0;
        }
    }

    /** Such as {@code 0.1}: the first phase, after one restart. */
    static String attempt(TaskInfo task) {
        return phase + "." + task.getAttemptNumber();
    }

    static AtomicInteger count(String what, String attempt) {
        return COUNTS.computeIfAbsent(what + "@" + attempt, ignored -> new AtomicInteger());
    }

    /** True the first time only. */
    static boolean fires(String what) {
        return FIRED.add(what);
    }

    static void hold() {
        held = new CountDownLatch(1);
    }

    static boolean isHolding() {
        return held != null;
    }

    static void awaitRelease() throws InterruptedException {
        CountDownLatch latch = held;
        if (latch != null) {
            latch.await(LONGEST_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static void release() {
        CountDownLatch latch = held;
        held = null;
        if (latch != null) {
            latch.countDown();
        }
    }

    /** The barrier has gone, and the timeout of its alignment passes before the operators go on. */
    static void sourceTookSnapshot() {
        CountDownLatch latch = held;
        if (latch != null) {
            TIMER.schedule(
                    () -> {
                        if (held == latch) {
                            release();
                        }
                    },
                    RELEASE_MS + 3L * alignedTimeout,
                    TimeUnit.MILLISECONDS);
        }
    }

    static void note(String name, TaskInfo task, Object... event) {
        Log.add(name + "@" + attempt(task) + "/" + task.getIndexOfThisSubtask(), text(event));
    }

    static String text(Object... values) {
        try {
            return JSON.writeValueAsString(values);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    static Object parsed(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    static String innermost(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.getClass().getSimpleName() + ": " + cause.getMessage();
    }
}

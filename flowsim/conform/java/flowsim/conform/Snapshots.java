package flowsim.conform;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.AbstractCheckpointStats;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.TaskStateStats;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.taskmanager.Task;

/** The checkpoints and savepoints that were requested of a job. */
final class Snapshots {
    private static final int LONGEST_SECONDS = 60;
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);
    private final MiniCluster cluster;
    private final JobID job;
    private final AtomicInteger pending = new AtomicInteger();
    private final AtomicInteger completed = new AtomicInteger();
    private final AtomicInteger confirmed = new AtomicInteger();
    private final AtomicLong lastCheckpoint = new AtomicLong();
    private volatile String last;
    private CompletableFuture<String> stop;

    Snapshots(MiniCluster cluster, JobID job) {
        this.cluster = cluster;
        this.job = job;
    }

    void checkpoint(String folder) throws Exception {
        // Flink answers its number; it is retained when the job is cancelled.
        request(
                () ->
                        cluster.triggerCheckpoint(job, CheckpointType.DEFAULT)
                                .thenApply(
                                        number -> {
                                            lastCheckpoint.accumulateAndGet(number, Math::max);
                                            return folder + "/" + job.toHexString() + "/chk-" + number;
                                        }),
                true);
    }

    void savepoint(String folder) throws Exception {
        request(() -> cluster.triggerSavepoint(job, folder, false, SavepointFormatType.CANONICAL), false);
    }

    void stop(String folder, boolean drain) throws Exception {
        stop = request(() -> cluster.stopWithSavepoint(job, folder, drain, SavepointFormatType.CANONICAL), true);
    }

    /**
     * Requests a snapshot, and waits until it begins; one that comes into a queue does not within the time. {@code isConfirmed}:
     * tasks are notified when it is complete.
     */
    private CompletableFuture<String> request(Supplier<CompletableFuture<String>> snapshot, boolean isConfirmed)
            throws Exception {
        long before = begun();
        TimeUnit.MILLISECONDS.sleep(1); // its time is later than that of the last move of the clock
        pending.incrementAndGet();
        CompletableFuture<String> requested = snapshot.get();
        CompletableFuture<String> followed =
                requested.whenComplete(
                        (path, error) -> {
                            if (error == null) {
                                last = path;
                                confirmed.addAndGet(isConfirmed ? 1 : 0);
                                completed.incrementAndGet();
                            }
                            pending.decrementAndGet();
                        });
        long deadline = System.nanoTime() + GRACE_NANOS;
        while (!followed.isDone()
                && begun() == before
                && System.nanoTime() < deadline) {
            TimeUnit.MICROSECONDS.sleep(300);
        }
        return followed;
    }

    /** How many have begun. */
    long begun() {
        return stats().getCounts().getTotalNumberOfCheckpoints();
    }

    boolean isAnyInProgress() {
        return stats().getCounts().getNumberOfInProgressCheckpoints() > 0;
    }

    private CheckpointStatsSnapshot stats() {
        try {
            return cluster.getExecutionGraph(job).get(LONGEST_SECONDS, TimeUnit.SECONDS).getCheckpointStatsSnapshot();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The path of the last savepoint or retained checkpoint; null without one. */
    String last() {
        return last;
    }

    /** The highest number of a checkpoint that is complete; 0 before. */
    long lastCheckpoint() {
        return lastCheckpoint.get();
    }

    /** How many have neither completed nor failed. */
    int pending() {
        return pending.get();
    }

    int completed() {
        return completed.get();
    }

    /** How many have completed of those of whose completion tasks are notified. */
    int confirmed() {
        return confirmed.get();
    }

    /** Whether the job was stopped, and its savepoint is complete. */
    boolean isStopped() {
        return stop != null && stop.isDone() && !stop.isCompletedExceptionally();
    }

    /**
     * The snapshots that are not complete for want of one of {@code blocked}, when all of {@code free} have done their parts;
     * empty before.
     */
    Set<Long> delayedBy(List<Task> blocked, List<Task> free) throws Exception {
        Set<Long> delayed = new HashSet<>();
        for (AbstractCheckpointStats each : stats().getHistory().getCheckpoints()) {
            if (each.getStatus().isInProgress()) {
                if (!free.stream().allMatch(task -> hasPart(each, task))) {
                    return Set.of();
                }
                if (!blocked.stream().allMatch(task -> hasPart(each, task))) {
                    delayed.add(each.getCheckpointId());
                }
            }
        }
        return delayed;
    }

    private static boolean hasPart(AbstractCheckpointStats checkpoint, Task task) {
        TaskStateStats parts = checkpoint.getTaskStateStats(task.getJobVertexId());
        return parts == null || parts.getSubtaskStats()[task.getTaskInfo().getIndexOfThisSubtask()] != null;
    }
}

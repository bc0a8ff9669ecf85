package flowsim.conform;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.taskexecutor.TaskExecutor;
import org.apache.flink.runtime.taskexecutor.slot.TaskSlotTable;
import org.apache.flink.runtime.taskmanager.InputGateWithMetrics;
import org.apache.flink.runtime.taskmanager.Task;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/**
 * Moves the time of a job: what is due at one moment happens, and when no task has anything left to do, time goes on to the
 * next moment.
 *
 * <p>Tasks are looked at upstream first. Whoever has nothing to do gets something only from upstream, which has nothing to
 * do either, or at a moment.
 */
final class Conductor {
    private static final int LONGEST_SECONDS = 60;
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** How long a call of a task takes at the most. */
    private static final long CALL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long END_NANOS = TimeUnit.SECONDS.toNanos(20);
    /** How long Flink takes to trigger a checkpoint by itself at the most. */
    private static final long LAST_NANOS = TimeUnit.SECONDS.toNanos(3);
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final MiniCluster cluster;
    private final JobID job;
    private final Map<JobVertexID, Integer> places = new HashMap<>();
    private final CompletableFuture<JobResult> result;
    private final int subtasks;
    /** The number of subtasks of all sources. */
    private final int sources;
    private final boolean takesLastCheckpoint;
    /** Where checkpoints are. */
    private final String folder;
    /** The node at the head of each chain. */
    private final Map<JobVertexID, Integer> vertices;
    /** When the attempt of each task was found to run. */
    private final Map<Task, Long> began = new HashMap<>();
    private List<Task> tasks = List.of();
    /** How many snapshots had completed, and how many tasks knew of one, when time went on. */
    private int completed;
    private int confirmed;
    /** The snapshots that are known to wait for a task. */
    private final Set<Long> known = new HashSet<>();
    private long notified = Seen.notifications();
    private Channels channels;
    private final Snapshots snapshots;

    Conductor(
            MiniCluster cluster,
            JobID job,
            List<JobVertexID> upstreamFirst,
            int subtasks,
            Map<JobVertexID, Integer> vertices,
            int sources,
            boolean takesLastCheckpoint,
            String folder) {
        this.folder = folder;
        this.sources = sources;
        this.takesLastCheckpoint = takesLastCheckpoint;
        this.vertices = vertices;
        this.cluster = cluster;
        this.job = job;
        this.subtasks = subtasks;
        upstreamFirst.forEach(vertex -> places.put(vertex, places.size()));
        result = cluster.requestJobResult(job);
        snapshots = new Snapshots(cluster, job);
    }

    /** The path of the last savepoint or retained checkpoint; null without one. */
    String snapshot() {
        return snapshots.last();
    }

    boolean isOver() {
        return result.isDone();
    }

    /**
     * Conducts the job to its end, or until this time of its clock in ns. {@code actions} happen at their times; {@code ends}:
     * the job is expected to end.
     */
    void conduct(JsonNode actions, long until, boolean ends) throws Exception {
        for (JsonNode action : actions) {
            ManualTime.at(action.get("at_ns").asLong(), () -> act(action));
        }
        awaitRunning();
        settle();
        long quietSince = System.nanoTime();
        while (!result.isDone()) {
            long next = ManualTime.nextNanos();
            if (next <= until) {
                ManualTime.fireNext();
                quietSince = System.nanoTime();
            } else if (!ends && next < Long.MAX_VALUE
                    || System.nanoTime() - quietSince > (ends ? END_NANOS : IDLE_NANOS)) {
                return; // nothing more is due, and the job does not end
            } else {
                TimeUnit.MICROSECONDS.sleep(200);
            }
            settle();
        }
    }

    private void act(JsonNode action) {
        try {
            String folder = action.path("directory").asText();
            switch (action.get("kind").asText()) {
                case "checkpoint":
                    snapshots.checkpoint(folder);
                    break;
                case "savepoint":
                    snapshots.savepoint(folder);
                    break;
                case "stop_with_savepoint":
                    snapshots.stop(folder, action.get("drain").asBoolean());
                    break;
                case "fail":
                    fail(action);
                    break;
                case "cancel":
                    cluster.cancelJob(job).get(LONGEST_SECONDS, TimeUnit.SECONDS);
                    result.get(LONGEST_SECONDS, TimeUnit.SECONDS);
                    break;
                default:
                    throw new IllegalArgumentException(action.toString());
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for snapshots, which take no time of the job, unless a task cannot take part: then time goes on meanwhile. */
    private void awaitSnapshots() throws Exception {
        long deadline = System.nanoTime() + GRACE_NANOS;
        while (snapshots.pending() > 0 && !result.isDone() && !hasFailed() && System.nanoTime() < deadline) {
            Set<Long> delayed = delayedSnapshots();
            if (!delayed.isEmpty()) {
                if (known.containsAll(delayed)) {
                    break;
                }
                known.addAll(delayed);
                awaitQuiet(() -> snapshots.pending() == 0, CALL_NANOS); // the tasks hear of it meanwhile
            }
            TimeUnit.MICROSECONDS.sleep(300);
        }
        if (snapshots.confirmed() > confirmed) {
            int listening = 0;
            for (Task task : tasks) {
                listening += vertices.containsKey(task.getJobVertexId()) && isRunning(task) && !isBlocked(task) ? 1 : 0;
            }
            long expected = notified + listening;
            awaitQuiet(() -> Seen.notifications() >= expected && tasks.stream().allMatch(this::isCommitted), GRACE_NANOS);
            awaitQuiet(() -> tasks.stream().noneMatch(Conductor::isAtItsEnd), CALL_NANOS);
            awaitQuiet(this::isEveryEndKnown, GRACE_NANOS);
        }
        completed = snapshots.completed();
        confirmed = snapshots.confirmed();
        notified = Seen.notifications();
    }

    /** Whether it has been notified of the last checkpoint, if it only commits. */
    private boolean isCommitted(Task task) {
        try {
            Object stream = field(Task.class, task, "invokable");
            if (vertices.containsKey(task.getJobVertexId()) || stream == null || !isRunning(task)) {
                return true;
            }
            Object committer = field(StreamTask.class, stream, "mainOperator");
            return committer != null
                    && (Long) field(committer.getClass(), committer, "lastCompletedCheckpointId")
                            >= snapshots.lastCheckpoint();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether all data of a job with checkpoints has ended: nothing but its last checkpoint is to come. */
    private boolean waitsForLastCheckpoint() {
        if (!takesLastCheckpoint || Script.ended() < sources || result.isDone() || hasFailed()) {
            return false;
        }
        return tasks.stream().allMatch(task -> !isRunning(task) || isAtItsEnd(task));
    }

    /** Whether it has ended its data, and waits for a checkpoint to end itself. */
    private static boolean isAtItsEnd(Task task) {
        try {
            Object stream = field(Task.class, task, "invokable");
            return isRunning(task) && (stream == null || (Boolean) field(StreamTask.class, stream, "endOfDataReceived"));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void awaitQuiet(BooleanSupplier condition, long nanos) throws Exception {
        long deadline = System.nanoTime() + nanos;
        while (!condition.getAsBoolean() && !result.isDone() && !hasFailed() && System.nanoTime() < deadline) {
            TimeUnit.MICROSECONDS.sleep(100);
        }
    }

    /** Whether Flink knows of all tasks that have ended: it takes no snapshot for want of one of which it does not. */
    private boolean isEveryEndKnown() {
        try {
            return running(Map.of()) == tasks.stream().filter(Conductor::isRunning).count();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** The snapshots that wait for a task which is blocked, when every other source has begun them. */
    private Set<Long> delayedSnapshots() throws Exception {
        List<Task> blocked = new ArrayList<>();
        List<Task> freeSources = new ArrayList<>();
        for (Task task : tasks) {
            if (isRunning(task) && isBlocked(task)) {
                blocked.add(task);
            } else if (isRunning(task) && ((Object[]) field(Task.class, task, "inputGates")).length == 0) {
                freeSources.add(task);
            }
        }
        return blocked.isEmpty() ? Set.of() : snapshots.delayedBy(blocked, freeSources);
    }

    /** Fails an attempt; one that began at this very time, in the place of one that failed then, comes too late for it. */
    private void fail(JsonNode action) throws Exception {
        int attempt = action.get("attempt").asInt();
        for (Task task : tasks) {
            if (task.getTaskInfo().getIndexOfThisSubtask() == action.get("subtask").asInt()
                    && task.getTaskInfo().getAttemptNumber() == attempt
                    && (attempt == 0 || began.get(task) < ManualTime.instant())
                    && vertices.getOrDefault(task.getJobVertexId(), -1) == action.get("node").asInt()) {
                task.failExternally(new IllegalStateException(action.get("message").asText()));
                awaitQuiet(() -> false, GRACE_NANOS);
            }
        }
    }

    private void settle() throws Exception {
        settleTasks();
        int before = -1;
        while (snapshots.pending() > 0 ? snapshots.pending() != before : snapshots.completed() > completed) {
            before = snapshots.pending();
            awaitSnapshots();
            settleTasks();
        }
        if (waitsForLastCheckpoint()) {
            awaitLastCheckpoint();
        }
        if (snapshots.isStopped()) {
            awaitQuiet(() -> false, END_NANOS);
        }
        if (hasFailed() && !result.isDone()) {
            awaitRunning();
            if (!result.isDone()) {
                settle();
            }
        }
    }

    private void settleTasks() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
        for (Task task : tasks) {
            for (int looks = 1; PlayedFunction.isToBegin(task); looks++) {
                pause(looks, deadline, "its source function does not begin", task);
            }
        }
        for (int looks = 1; PlayedFunction.isAnyBusy() && !result.isDone() && !hasFailed(); looks++) {
            pause(looks, deadline, "a source function goes on", null);
        }
        for (Task task : tasks) {
            for (int looks = 1; isRunning(task) && !isBlocked(task) && !hasReadAll(task); looks++) {
                pause(looks, deadline, "its input is not read", task);
            }
            // The last element that it read may still be in process.
            for (int looks = 1; !isIdle(task); looks++) {
                pause(looks, deadline, "it goes on", task);
            }
        }
    }

    /**
     * Waits until Flink has taken its last checkpoint, in its own time, which is no time of the job. Flink triggers none after a
     * restart of one subtask of several, because it forgets that the others have reached the end of their data. Then the next
     * periodic checkpoint is the last one.
     */
    private void awaitLastCheckpoint() throws Exception {
        long before = snapshots.begun();
        awaitQuiet(() -> snapshots.isAnyInProgress() || snapshots.begun() > before, LAST_NANOS);
        if (!result.isDone() && !hasFailed() && !snapshots.isAnyInProgress() && snapshots.begun() == before) {
            snapshots.checkpoint(folder);
        }
        awaitQuiet(() -> false, END_NANOS);
    }

    private boolean hasFailed() {
        return !tasks.stream().allMatch(task -> isRunning(task) || task.getExecutionState() == ExecutionState.FINISHED);
    }

    private static void pause(int looks, long deadline, String what, Task task) throws TimeoutException {
        if (looks % 20 == 0) {
            LockSupport.parkNanos(20_000); // the task that we wait for may need the processor
            if (System.nanoTime() > deadline) {
                throw new TimeoutException("the job does not come to rest: " + what + (task == null ? "" : ": " + placeOf(task)));
            }
        }
    }

    private static String placeOf(Task task) {
        List<StackTraceElement> frames = List.of(task.getExecutingThread().getStackTrace());
        return task.getTaskInfo().getTaskNameWithSubtasks() + " in " + frames.subList(0, Math.min(frames.size(), 12));
    }

    /** Whether its thread stands still: in a pause, or for a buffer or the lock that the pause of another one keeps. */
    private static boolean isHeldUp(Task task) {
        Thread thread = task.getExecutingThread();
        if (Pauses.isPaused(thread)) {
            return true;
        }
        if (Pauses.sources() > 0 && thread.getState() == Thread.State.BLOCKED) {
            return true;
        }
        if (Pauses.areNone() || thread.getState() != Thread.State.WAITING) {
            return false;
        }
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals("requestMemorySegmentBlocking")) {
                return true;
            }
        }
        return false;
    }

    /** Whether it waits inside an element, and reads nothing more until it gets a mail. */
    private static boolean isBlocked(Task task) throws ReflectiveOperationException {
        if (isHeldUp(task)) {
            return true;
        }
        Object stream = field(Task.class, task, "invokable");
        return stream != null
                && isIdle(task)
                && field(MailboxProcessor.class, field(StreamTask.class, stream, "mailboxProcessor"), "suspendedDefaultAction")
                        == null;
    }

    private boolean isAnyBlocked() throws ReflectiveOperationException {
        for (Task task : tasks) {
            if (isRunning(task) && isBlocked(task)) {
                return true;
            }
        }
        return false;
    }

    private boolean hasReadAll(Task task) throws ReflectiveOperationException {
        return task.getExecutionState() == ExecutionState.RUNNING && channels.areRead(task, isAnyBlocked());
    }

    /** Whether it has begun and not ended; it may process what was on its way when the snapshot was taken. */
    private static boolean isRunning(Task task) {
        ExecutionState state = task.getExecutionState();
        return state == ExecutionState.RUNNING || state == ExecutionState.INITIALIZING;
    }

    /** Whether time can go on for it: it runs, or an operator waits while it processes what was on its way. */
    private static boolean isRestored(Task task) throws ReflectiveOperationException {
        ExecutionState state = task.getExecutionState();
        boolean hasBegun = field(Task.class, task, "invokable") != null;
        return hasBegun && (state == ExecutionState.RUNNING || state == ExecutionState.INITIALIZING && isBlocked(task));
    }

    /**
     * Whether its thread waits for a mail and none that it would take is there: in its loop, with nothing to read, or in an
     * operator that yields in the middle of an element. Whoever puts a mail wakes it, and then it does not wait.
     */
    private static boolean isIdle(Task task) throws ReflectiveOperationException {
        StreamTask<?, ?> stream = (StreamTask<?, ?>) field(Task.class, task, "invokable");
        if (!isRunning(task) || stream == null || isHeldUp(task)) {
            return true;
        }
        Object processor = field(StreamTask.class, stream, "mailboxProcessor");
        Object mailbox = field(MailboxProcessor.class, processor, "mailbox");
        ReentrantLock lock = (ReentrantLock) field(TaskMailboxImpl.class, mailbox, "lock");
        lock.lock();
        try {
            return lock.hasWaiters((Condition) field(TaskMailboxImpl.class, mailbox, "notEmpty"));
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all tasks run, or have finished, those that have failed in their next attempts; or the job is over. */
    private void awaitRunning() throws Exception {
        Map<String, Integer> failed = new HashMap<>();
        for (Task task : tasks) {
            if (!isRunning(task) && task.getExecutionState() != ExecutionState.FINISHED) {
                int subtask = task.getTaskInfo().getIndexOfThisSubtask();
                failed.put(task.getJobVertexId() + "/" + subtask, task.getTaskInfo().getAttemptNumber());
            }
        }
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
        while (!result.isDone()) {
            int running = running(failed);
            if (running >= 0) {
                List<Task> found = found();
                if (found.size() == running && areConnected(found)) {
                    found.sort((a, b) -> places.get(a.getJobVertexId()) - places.get(b.getJobVertexId()));
                    for (Task task : found) {
                        if (!tasks.contains(task)) {
                            Channels.beginWithFirstChannel(task);
                            Alignments.useFor((StreamTask<?, ?>) field(Task.class, task, "invokable"));
                            began.put(task, ManualTime.instant());
                        }
                    }
                    tasks = found;
                    channels = new Channels();
                    channels.of(found);
                    return;
                }
            }
            if (System.nanoTime() > deadline) {
                List<String> places = new ArrayList<>();
                for (Task task : all()) {
                    places.add(task.getExecutionState() + " " + placeOf(task));
                }
                throw new TimeoutException("the tasks do not run: " + places);
            }
            TimeUnit.MICROSECONDS.sleep(300);
        }
        tasks = List.of();
    }

    /** How many subtasks run, when the others have finished and those that failed are in their next attempts; else -1. */
    private int running(Map<String, Integer> failed) throws Exception {
        AccessExecutionGraph graph = cluster.getExecutionGraph(job).get(LONGEST_SECONDS, TimeUnit.SECONDS);
        int count = 0;
        int running = 0;
        for (AccessExecutionJobVertex job : graph.getVerticesTopologically()) {
            for (AccessExecutionVertex vertex : job.getTaskVertices()) {
                ExecutionState state = vertex.getExecutionState();
                int attempt = vertex.getCurrentExecutionAttempt().getAttemptNumber();
                int old = failed.getOrDefault(job.getJobVertexId() + "/" + vertex.getParallelSubtaskIndex(), -1);
                boolean isRunning = state == ExecutionState.RUNNING || state == ExecutionState.INITIALIZING;
                count += (isRunning || state == ExecutionState.FINISHED) && attempt > old ? 1 : 0;
                running += isRunning ? 1 : 0;
            }
        }
        return graph.getState() == JobStatus.RUNNING && count == subtasks ? running : -1;
    }

    /** A channel that was asked for before its sender was there asks again later: until then data waits for it. */
    private static boolean areConnected(List<Task> tasks) throws ReflectiveOperationException {
        for (Task task : tasks) {
            if (task.getExecutionState() == ExecutionState.INITIALIZING) {
                continue; // its channels come behind what was on its way
            }
            for (Object gate : (Object[]) field(Task.class, task, "inputGates")) {
                InputGate inner = (InputGate) field(InputGateWithMetrics.class, gate, "inputGate");
                for (int channel = 0; channel < inner.getNumberOfInputChannels(); channel++) {
                    if (!Channels.isConnected(inner.getChannel(channel))) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    /** The tasks for which time can go on. */
    private List<Task> found() throws ReflectiveOperationException {
        List<Task> found = new ArrayList<>();
        for (Task task : all()) {
            if (isRestored(task)) {
                found.add(task);
            }
        }
        return found;
    }

    @SuppressWarnings("unchecked")
    private List<Task> all() throws ReflectiveOperationException {
        List<Task> all = new ArrayList<>();
        for (TaskExecutor executor : (List<TaskExecutor>) field(MiniCluster.class, cluster, "taskManagers")) {
            TaskSlotTable<Task> slots = (TaskSlotTable<Task>) field(TaskExecutor.class, executor, "taskSlotTable");
            try {
                slots.getTasks(job).forEachRemaining(all::add);
            } catch (ConcurrentModificationException moreAreComing) {
                return List.of();
            }
        }
        return all;
    }

    static Object field(Class<?> type, Object target, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }
}

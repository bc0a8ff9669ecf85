package flowsim.jobs.described;

import flowsim.jobs.Log;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.taskexecutor.TaskExecutor;
import org.apache.flink.runtime.taskexecutor.slot.TaskSlotTable;
import org.apache.flink.runtime.taskmanager.InputGateWithMetrics;
import org.apache.flink.runtime.taskmanager.Task;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl;

/**
 * Lets the sources of a job do one thing at a time: the next step is granted when no task has anything left to do.
 *
 * <p>Tasks are looked at upstream first. Whoever has nothing to do gets something only from upstream, which has nothing to
 * do either, or from a timer or a call that is answered, which happen when the steps say so (see {@link ManualTime}).
 */
final class Steps {
    private static final Object LOCK = new Object();
    private static final int LONGEST_SECONDS = 30;
    private static final Map<Integer, List<CompletableFuture<Void>>> WAITING = new HashMap<>();
    private static int granted;
    private static int performed;
    private static boolean abandoned;
    private static Map<String, Integer> settled;

    private final MiniCluster cluster;
    private final JobID job;
    private final List<Task> tasks;
    private final Channels channels;
    private final boolean holdsBack;

    /**
     * {@code channels}: null when all are local and flushed at once, so that a task knows of all that is in them. With {@code
     * holdsBack} a task's output is flushed when it has nothing more to do: the next one reads all of it at once, and not
     * perhaps the first element alone.
     */
    Steps(MiniCluster cluster, JobID job, List<JobVertexID> upstreamFirst, int subtasks, Channels channels, boolean holdsBack)
            throws Exception {
        this.cluster = cluster;
        this.job = job;
        this.channels = channels;
        this.holdsBack = holdsBack;
        this.tasks = running(upstreamFirst, subtasks);
        if (holdsBack) {
            for (Task task : tasks) {
                Channels.flushOnlyByHand(task);
            }
        }
    }

    static void reset() {
        synchronized (LOCK) {
            granted = -1;
            performed = -1;
            abandoned = false;
            settled = Map.of();
            WAITING.clear();
        }
    }

    static void awaitGrant(int step) throws InterruptedException {
        synchronized (LOCK) {
            while (granted < step && !abandoned) {
                LOCK.wait();
            }
        }
    }

    /** Lets all that wait for a step go: the job is cancelled. */
    static void abandon() {
        synchronized (LOCK) {
            abandoned = true;
            LOCK.notifyAll();
        }
    }

    static boolean isAbandoned() {
        synchronized (LOCK) {
            return abandoned;
        }
    }

    /** How many events each place of the log had when the last thing that happened from outside had come to its end. */
    static Map<String, Integer> settled() {
        return settled;
    }

    /** For a source that must not wait inside: the future is done as soon as the step is granted. */
    static CompletableFuture<Void> whenGranted(int step) {
        synchronized (LOCK) {
            CompletableFuture<Void> future = new CompletableFuture<>();
            if (granted >= step) {
                future.complete(null);
            } else {
                WAITING.computeIfAbsent(step, ignored -> new ArrayList<>()).add(future);
            }
            return future;
        }
    }

    static boolean isGranted(int step) {
        synchronized (LOCK) {
            return granted >= step;
        }
    }

    static void performed(int step) {
        synchronized (LOCK) {
            performed = step;
            LOCK.notifyAll();
        }
    }

    /**
     * All steps, each at its time in ms; {@code gapMillis} 0 for a job without manual time. A source that {@code mayBlock}
     * may play a step later, when what is chained to it has space again; it is the only one. With {@code drains} time goes
     * on behind the last step for as long as somebody waits for it.
     */
    void conduct(int count, long gapMillis, boolean mayBlock, boolean drains) throws Exception {
        settle();
        for (int step = 0; step < count && !isOver() && !hasFailed(); step++) {
            if (gapMillis > 0) {
                long now = ManualTime.START + (step + 1) * gapMillis;
                while (!hasFailed() && ManualTime.fireNext(now)) {
                    settle();
                }
            }
            if (hasFailed()) {
                return;
            }
            grant(step);
            synchronized (LOCK) {
                long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
                while (!mayBlock && performed < step && !isOver()) {
                    LOCK.wait(100);
                    if (System.nanoTime() > deadline) {
                        throw new TimeoutException("step " + step + " was not performed");
                    }
                }
            }
            settle();
        }
        while (drains && !isOver() && !hasFailed()) {
            if (!ManualTime.fireNext()) {
                TimeUnit.MICROSECONDS.sleep(100);
            }
            settle();
        }
    }

    private static void grant(int step) {
        List<CompletableFuture<Void>> waiting;
        synchronized (LOCK) {
            granted = step;
            waiting = WAITING.remove(step);
            LOCK.notifyAll();
        }
        if (waiting != null) {
            waiting.forEach(future -> future.complete(null));
        }
    }

    private boolean isOver() throws Exception {
        return cluster.requestJobResult(job).isDone();
    }

    private void settle() throws Exception {
        for (Task task : tasks) {
            for (int looks = 1; channels != null && isRunning(task) && !isBlocked(task) && !channels.areRead(task); looks++) {
                pause(looks);
            }
            // The last element that it read may still be in process.
            for (int looks = 1; !isIdle(task); looks++) {
                pause(looks);
            }
            if (holdsBack) {
                Channels.flush(task);
            }
        }
        if (!hasFailed()) {
            settled = Log.sizes();
        }
    }

    /** Whether a task has failed: nothing more may happen, lest a second one fails before the first is known to have. */
    private boolean hasFailed() {
        return !tasks.stream().allMatch(task -> isRunning(task) || task.getExecutionState() == ExecutionState.FINISHED);
    }

    private static void pause(int looks) {
        if (looks % 20 == 0) {
            LockSupport.parkNanos(20_000); // the task that we wait for may need the processor
        }
    }

    /** Whether it waits inside an element, and reads nothing more until it gets a mail. */
    private static boolean isBlocked(Task task) throws ReflectiveOperationException {
        Object stream = field(Task.class, task, "invokable");
        return stream != null
                && isIdle(task)
                && field(MailboxProcessor.class, field(StreamTask.class, stream, "mailboxProcessor"), "suspendedDefaultAction")
                        == null;
    }

    private static boolean isRunning(Task task) {
        return task.getExecutionState() == ExecutionState.RUNNING;
    }

    /**
     * Whether its thread waits for a mail and none that it would take is there: in its loop, with nothing to read, or in an
     * operator that yields in the middle of an element. Whoever puts a mail wakes it, and then it does not wait.
     */
    private static boolean isIdle(Task task) throws ReflectiveOperationException {
        StreamTask<?, ?> stream = (StreamTask<?, ?>) field(Task.class, task, "invokable");
        if (task.getExecutionState() != ExecutionState.RUNNING || stream == null) {
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

    private List<Task> running(List<JobVertexID> upstreamFirst, int subtasks) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
        while (true) {
            List<Task> found = found();
            if (found.size() == subtasks
                    && found.stream().allMatch(task -> task.getExecutionState() == ExecutionState.RUNNING)
                    && areConnected(found)) {
                Map<JobVertexID, Integer> place = new HashMap<>();
                upstreamFirst.forEach(vertex -> place.put(vertex, place.size()));
                found.sort((a, b) -> place.get(a.getJobVertexId()) - place.get(b.getJobVertexId()));
                if (channels != null) {
                    channels.of(found);
                }
                return found;
            }
            if (isOver()) {
                return new ArrayList<>();
            }
            if (System.nanoTime() > deadline) {
                throw new TimeoutException("the tasks do not run");
            }
            TimeUnit.MICROSECONDS.sleep(300);
        }
    }

    /** A channel that was asked for before its sender was there asks again later: until then data waits for it. */
    private static boolean areConnected(List<Task> tasks) throws ReflectiveOperationException {
        for (Task task : tasks) {
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

    @SuppressWarnings("unchecked")
    private List<Task> found() throws ReflectiveOperationException {
        List<Task> found = new ArrayList<>();
        for (TaskExecutor executor : (List<TaskExecutor>) field(MiniCluster.class, cluster, "taskManagers")) {
            TaskSlotTable<Task> slots = (TaskSlotTable<Task>) field(TaskExecutor.class, executor, "taskSlotTable");
            try {
                slots.getTasks(job).forEachRemaining(found::add);
            } catch (ConcurrentModificationException moreAreComing) {
                return List.of();
            }
        }
        return found;
    }

    static Object field(Class<?> type, Object target, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }
}

package flowsim.conform;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.runtime.taskmanager.Task;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.operators.StreamSource;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.tasks.OperatorChain;
import org.apache.flink.streaming.runtime.tasks.SourceStreamTask;
import org.apache.flink.streaming.runtime.tasks.StreamTask;

/** Plays a script as a source function, which makes its watermarks itself. */
final class PlayedFunction extends RichParallelSourceFunction<Long> implements CheckpointedFunction, CheckpointListener {
    /** The functions whose threads do not wait: something may still come from them. */
    private static final Set<PlayedFunction> BUSY = ConcurrentHashMap.newKeySet();
    /** Threads whose functions have ended, which the task hears of when they end, too. */
    private static final Set<Thread> ENDING = ConcurrentHashMap.newKeySet();

    private final int node;
    private final String scripts;
    private transient Script script;
    private transient ListState<String> state;
    private transient Failures failures;
    /** The thread of the task, which takes snapshots. */
    private transient Thread task;
    private transient volatile CountDownLatch waiting;
    private transient volatile boolean hasBegun;
    private volatile boolean running = true;

    PlayedFunction(int node, JsonNode scripts) {
        this.node = node;
        this.scripts = scripts.toString();
    }

    static boolean isAnyBusy() {
        ENDING.removeIf(thread -> !thread.isAlive());
        return BUSY.size() > Pauses.sources() || !ENDING.isEmpty();
    }

    /** Whether the task runs, and the thread of its function does not yet. */
    static boolean isToBegin(Task task) throws ReflectiveOperationException {
        Object stream = Conductor.field(Task.class, task, "invokable");
        if (task.getExecutionState() != ExecutionState.RUNNING || !(stream instanceof SourceStreamTask)) {
            return false;
        }
        OperatorChain<?, ?> chain = (OperatorChain<?, ?>) Conductor.field(StreamTask.class, stream, "operatorChain");
        if (chain == null || chain.isTaskDeployedAsFinished()) {
            return false;
        }
        Object operator = chain.getMainOperator();
        Object function = operator instanceof StreamSource ? ((StreamSource<?, ?>) operator).getUserFunction() : null;
        return function instanceof PlayedFunction && !((PlayedFunction) function).hasBegun;
    }

    static void reset() {
        BUSY.clear();
        ENDING.clear();
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        task = Thread.currentThread();
        int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        script = new Script(node, subtask, Script.parsed(scripts).get(subtask));
        failures = Failures.of(node, subtask, getRuntimeContext().getTaskInfo().getAttemptNumber());
        state = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("position", Types.STRING));
        script.start();
        if (context.isRestored()) {
            script.at = script.entries.length; // nothing is stored of a subtask that had finished
            for (String position : state.get()) {
                script.restore(position);
            }
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        failures.inSnapshot(context.getCheckpointId());
        List<String> positions = new ArrayList<>();
        positions.add(script.position());
        state.update(positions);
    }

    @Override
    public void run(SourceContext<Long> context) throws Exception {
        BUSY.add(this);
        hasBegun = true;
        try {
            // All tasks run before the first of them gets something.
            await(ManualTime.nowNanos());
            if (script.isIdle()) {
                context.markAsTemporarilyIdle(); // restored at a position behind this
            }
            while (running) {
                long due = script.waitsUntil();
                if (due >= 0) {
                    await(due);
                    continue;
                }
                if (script.isOver() || script.entry().get(1).asText().equals("end")) {
                    script.at = script.entries.length;
                    script.end();
                    return;
                }
                letTaskGoFirst();
                synchronized (context.getCheckpointLock()) {
                    play(script.entry(), context);
                    script.at++;
                }
            }
        } finally {
            ENDING.add(Thread.currentThread());
            BUSY.remove(this);
        }
    }

    /** A snapshot that waited for the lock while this thread paused comes before the next record, as here. */
    private void letTaskGoFirst() {
        while (running && (task.getState() == Thread.State.BLOCKED || task.getState() == Thread.State.RUNNABLE)) {
            Thread.yield();
        }
    }

    private void await(long due) throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        waiting = latch;
        synchronized (latch) {
            // It is busy until the alarm is set: otherwise time could go on past it.
            ManualTime.wakeAt(due, node, script.subtask, () -> wake(latch));
            BUSY.remove(this);
        }
        try {
            latch.await();
        } finally {
            wake(latch); // after an interrupt, too: the alarm comes to nobody
        }
    }

    private void wake(CountDownLatch latch) {
        synchronized (latch) {
            if (latch.getCount() > 0) {
                BUSY.add(this);
                latch.countDown();
            }
        }
    }

    private void play(JsonNode entry, SourceContext<Long> context) {
        switch (entry.get(1).asText()) {
            case "r":
                Pauses.beforeRecord(node, script.subtask);
                failures.beforeRecord(script.emitted++);
                if (!entry.get(3).isNull()) {
                    script.previous = entry.get(3).asLong();
                }
                if (script.previous == null) {
                    context.collect(entry.get(2).asLong());
                } else {
                    context.collectWithTimestamp(entry.get(2).asLong(), script.previous);
                }
                break;
            case "w":
                context.emitWatermark(new Watermark(entry.get(2).asLong()));
                break;
            case "i":
                context.markAsTemporarilyIdle();
                break;
            default:
                script.wakeNanos = ManualTime.nowNanos() + entry.get(2).asLong();
        }
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
        Seen.notified(node);
        failures.inNotification(checkpoint);
    }

    @Override
    public void cancel() {
        running = false;
        CountDownLatch latch = waiting;
        if (latch != null) {
            wake(latch);
        }
    }
}

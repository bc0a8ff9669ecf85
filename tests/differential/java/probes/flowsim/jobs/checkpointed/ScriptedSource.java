package flowsim.jobs.checkpointed;

import flowsim.jobs.Log;
import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * Runs the entries of its subtask when their steps come: {@code [step, "r", number, key, value, timestamp, orders]}, {@code
 * [step, "w", timestamp]}, {@code "ck"} (a checkpoint, and its notifications), {@code "ck_nowait_notify"}, {@code "fail"},
 * {@code "savepoint"}, {@code "retain"} (a checkpoint; both end the phase), {@code "stop", drain}, {@code "answer", number}
 * (of the async function), {@code "end"} (of the subtask's input; the next step waits until it is processed) and {@code
 * "hold"}: operators wait in their next element until the sources have taken their next snapshot.
 */
final class ScriptedSource extends RichParallelSourceFunction<Tuple4<Integer, String, Long, long[]>>
        implements CheckpointedFunction {
    private static final int GAP_MS = 10;
    private static final int SECONDS = 20;
    private static final int LONGEST_WAIT_MS = 500;
    private static final ThreadLocal<Boolean> IS_SOURCE = ThreadLocal.withInitial(() -> false);

    private final String name;
    private final String scripts;
    private final boolean countsArrivals;
    private volatile boolean running = true;
    private int position;
    private transient ListState<Tuple3<Integer, Integer, Integer>> positions;

    /** {@code countsArrivals}: whether the operator counts what it receives; else a record has time to arrive. */
    ScriptedSource(String name, JsonNode scripts, boolean countsArrivals) {
        this.name = name;
        this.countsArrivals = countsArrivals;
        this.scripts = scripts.toString();
    }

    /** Whether the thread emits records; other threads that ask for a key receive them. */
    static boolean isRunning() {
        return IS_SOURCE.get();
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        positions =
                context.getOperatorStateStore()
                        .getListState(
                                new ListStateDescriptor<>("pos", Types.TUPLE(Types.INT, Types.INT, Types.INT)));
        if (!context.isRestored()) {
            Board.STEP.set(0);
            return;
        }
        // The list of a finished subtask is empty.
        position = entries().size();
        for (Tuple3<Integer, Integer, Integer> stored : positions.get()) {
            position = stored.f1;
            Board.STEP.set(stored.f2);
            Board.note(name, task(), "restored", stored.f0, stored.f1);
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        positions.update(
                Collections.singletonList(Tuple3.of(task().getIndexOfThisSubtask(), position, Board.checkpointStep)));
        Board.sourceTookSnapshot();
    }

    private TaskInfo task() {
        return getRuntimeContext().getTaskInfo();
    }

    private JsonNode entries() throws IOException {
        return Board.JSON.readTree(scripts).get(task().getIndexOfThisSubtask());
    }

    @Override
    public void run(SourceContext<Tuple4<Integer, String, Long, long[]>> context) throws Exception {
        IS_SOURCE.set(true);
        awaitStart();
        JsonNode entries = entries();
        while (running && position < entries.size()) {
            JsonNode entry = entries.get(position);
            while (running && Board.STEP.get() != entry.get(0).asInt()) {
                Thread.sleep(0, 200_000);
            }
            if (running && Board.inputHasEnded) {
                Board.inputHasEnded = false;
                Thread.sleep(2 * GAP_MS);
            }
            if (!running || !perform(entry, context)) {
                return;
            }
            Board.STEP.set(entry.get(0).asInt() + 1);
        }
    }

    /** Finished subtasks of a restored job never start, so the wait for all sources is bounded. */
    private void awaitStart() throws Exception {
        String attempt = Board.attempt(task());
        Board.count("source", attempt).incrementAndGet();
        while (running && (Board.cluster == null || Board.count("open", attempt).get() < Board.expectedOpens)) {
            Thread.sleep(1);
        }
        while (running && !allTasksRun()) {
            Thread.sleep(2);
        }
        awaitCount("source", attempt, Board.sources, LONGEST_WAIT_MS);
        Thread.sleep(GAP_MS);
    }

    private static boolean allTasksRun() throws Exception {
        for (AccessExecutionVertex vertex :
                Board.cluster.getExecutionGraph(Board.job).get(SECONDS, TimeUnit.SECONDS).getAllExecutionVertices()) {
            if (vertex.getExecutionState() != ExecutionState.RUNNING
                    && vertex.getExecutionState() != ExecutionState.FINISHED) {
                return false;
            }
        }
        return true;
    }

    private void awaitCount(String what, String attempt, int expected, int longestMillis) throws InterruptedException {
        for (int waited = 0; running && waited < longestMillis; waited++) {
            if (Board.count(what, attempt).get() >= expected) {
                return;
            }
            Thread.sleep(1);
        }
    }

    /** Returns false if the phase ends. */
    private boolean perform(JsonNode entry, SourceContext<Tuple4<Integer, String, Long, long[]>> context)
            throws Exception {
        int step = entry.get(0).asInt();
        switch (entry.get(1).asText()) {
            case "r":
                record(entry, context);
                return true;
            case "w":
                synchronized (context.getCheckpointLock()) {
                    context.emitWatermark(new Watermark(entry.get(2).asLong()));
                    position++;
                }
                Thread.sleep(GAP_MS);
                return true;
            case "hold":
                position++;
                Board.hold();
                return true;
            case "end":
                position++;
                Board.inputHasEnded = true;
                return true;
            case "answer":
                position++;
                Board.STEP.set(step + 1);
                Thread.sleep(GAP_MS);
                return true;
            case "fail":
                position++;
                if (Board.fires("step" + step)) {
                    throw new IllegalStateException("scripted failure");
                }
                return true;
            case "ck":
            case "ck_nowait_notify":
                checkpoint(step, entry.get(1).asText().equals("ck"));
                return true;
            default:
                endPhase(step, entry);
                return false;
        }
    }

    private void record(JsonNode entry, SourceContext<Tuple4<Integer, String, Long, long[]>> context)
            throws InterruptedException {
        long[] orders = new long[entry.get(6).size()];
        for (int i = 0; i < orders.length; i++) {
            orders[i] = entry.get(6).get(i).asLong();
        }
        int arrived = Board.ARRIVED.get();
        boolean waits = countsArrivals && !Board.isHolding();
        synchronized (context.getCheckpointLock()) {
            context.collectWithTimestamp(
                    Tuple4.of(entry.get(2).asInt(), entry.get(3).asText(), entry.get(4).asLong(), orders),
                    entry.get(5).asLong());
            position++;
        }
        for (int i = 0; waits && running && Board.ARRIVED.get() == arrived && i < LONGEST_WAIT_MS; i++) {
            Thread.sleep(1);
        }
        Thread.sleep(waits ? GAP_MS / 2 : GAP_MS);
    }

    private void checkpoint(int step, boolean waits) throws Exception {
        position++;
        Board.checkpointStep = step + 1;
        long id;
        try {
            id = completed();
        } catch (ExecutionException e) {
            Log.add("checkpoints", Board.text(step, null, Board.innermost(e)));
            // The job fails or is restarted.
            for (int i = 0; i < 3000 && running; i++) {
                Thread.sleep(1);
            }
            return;
        }
        Log.add("checkpoints", Board.text(step, id, "completed"));
        if (waits) {
            awaitCount("notified" + id, Board.attempt(task()), Board.expectedNotifications, LONGEST_WAIT_MS);
            Thread.sleep(GAP_MS);
        }
    }

    /** Tasks may still be starting when the first one runs. */
    private static long completed() throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return Board.cluster
                        .triggerCheckpoint(Board.job, CheckpointType.CONFIGURED)
                        .get(SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                if (tries == 40 || !Board.innermost(e).contains("Not all required")) {
                    throw e;
                }
                Thread.sleep(25);
            }
        }
    }

    private void endPhase(int step, JsonNode entry) throws Exception {
        position++;
        Board.checkpointStep = step + 1;
        switch (entry.get(1).asText()) {
            case "stop":
                Board.stop =
                        Board.cluster
                                .stopWithSavepoint(
                                        Board.job,
                                        Board.folder,
                                        entry.get(2).asInt() == 1,
                                        SavepointFormatType.CANONICAL)
                                .whenComplete((written, error) -> stopped(step, written, error));
                break;
            case "savepoint":
                Board.snapshot =
                        Board.cluster
                                .triggerSavepoint(Board.job, Board.folder, false, SavepointFormatType.CANONICAL)
                                .get(SECONDS, TimeUnit.SECONDS);
                Log.add("checkpoints", Board.text(step, null, "savepoint"));
                Board.hasEnded = true;
                break;
            default:
                Board.snapshot = Board.cluster.triggerCheckpoint(Board.job).get(SECONDS, TimeUnit.SECONDS);
                Log.add("checkpoints", Board.text(step, null, "retained"));
                Board.hasEnded = true;
        }
        while (running) {
            Thread.sleep(1);
        }
    }

    private static void stopped(int step, String written, Throwable error) {
        Board.snapshot = written;
        Log.add("checkpoints", Board.text(step, null, error == null ? "stopped" : Board.innermost(error)));
    }

    @Override
    public void cancel() {
        running = false;
    }
}

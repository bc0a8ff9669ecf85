package flowsim.jobs.checkpointed;

import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Logs its life cycle; emits one record before each barrier until its input ends. */
final class Trace<T> extends AbstractStreamOperator<String>
        implements OneInputStreamOperator<T, String>, BoundedOneInput {
    private final String name;
    private final String log;
    private boolean inputHasEnded;
    private boolean isInitialized;

    Trace(String name, String log) {
        this.name = name;
        this.log = log;
    }

    private TaskInfo task() {
        return getRuntimeContext().getTaskInfo();
    }

    private void note(Object... event) {
        Object[] named = new Object[event.length + 1];
        named[0] = name;
        System.arraycopy(event, 0, named, 1, event.length);
        Board.note(log, task(), named);
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        isInitialized = true;
        boolean isRestored = context.getRestoredCheckpointId().isPresent();
        note("initializeState", isRestored ? (Object) context.getRestoredCheckpointId().getAsLong() : null);
    }

    @Override
    public void open() throws Exception {
        super.open();
        note("open");
        Board.count("open", Board.attempt(task())).incrementAndGet();
    }

    @Override
    public void processElement(StreamRecord<T> record) {
        if (record.getValue() instanceof Tuple4) {
            Tuple4<?, ?, ?, ?> event = (Tuple4<?, ?, ?, ?>) record.getValue();
            note("element", event.f0);
            output.collect(new StreamRecord<>(Board.text("x", event.f1, event.f0), record.getTimestamp()));
        } else {
            String text = (String) record.getValue();
            note("element", Board.parsed(text));
            output.collect(new StreamRecord<>(text, record.getTimestamp()));
        }
    }

    @Override
    public void prepareSnapshotPreBarrier(long id) {
        note("prepareSnapshotPreBarrier", id);
        if (!inputHasEnded) {
            output.collect(new StreamRecord<>(Board.text("pre", name, id)));
        }
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        note("snapshotState", context.getCheckpointId());
    }

    @Override
    public void notifyCheckpointComplete(long id) throws Exception {
        super.notifyCheckpointComplete(id);
        note("notifyCheckpointComplete", id);
    }

    @Override
    public void notifyCheckpointAborted(long id) throws Exception {
        super.notifyCheckpointAborted(id);
        note("notifyCheckpointAborted", id);
    }

    @Override
    public void endInput() {
        inputHasEnded = true;
        note("endInput");
    }

    @Override
    public void finish() throws Exception {
        super.finish();
        note("finish");
    }

    @Override
    public void close() throws Exception {
        if (isInitialized) {
            note("close");
        }
        super.close();
    }
}

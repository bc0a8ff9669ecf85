package flowsim.jobs.checkpointed;

import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/** Logs what reaches it and its snapshots, and counts the notifications. */
final class Probe extends AbstractStreamOperator<String> implements OneInputStreamOperator<String, String> {
    private TaskInfo task() {
        return getRuntimeContext().getTaskInfo();
    }

    @Override
    public void open() throws Exception {
        super.open();
        Board.count("open", Board.attempt(task())).incrementAndGet();
    }

    @Override
    public void processElement(StreamRecord<String> record) throws InterruptedException {
        Board.awaitRelease();
        Object timestamp = record.hasTimestamp() ? (Object) record.getTimestamp() : null;
        Board.note("out", task(), "rec", Board.parsed(record.getValue()), timestamp);
        output.collect(record);
    }

    @Override
    public void processWatermark(Watermark watermark) throws Exception {
        Board.awaitRelease();
        Board.note("out", task(), "wm", watermark.getTimestamp());
        super.processWatermark(watermark);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        Board.note("out", task(), "snapshot", context.getCheckpointId());
    }

    @Override
    public void notifyCheckpointComplete(long id) throws Exception {
        super.notifyCheckpointComplete(id);
        Board.note("out", task(), "complete", id);
        Board.count("notified" + id, Board.attempt(task())).incrementAndGet();
    }
}

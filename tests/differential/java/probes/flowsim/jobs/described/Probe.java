package flowsim.jobs.described;

import flowsim.jobs.Log;
import java.lang.reflect.Field;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/**
 * Notes every element in order of arrival, unless it has no name, and hands it on.
 *
 * <p>At the end of a chain it is the first of its task to be made: with {@code manual} it gives those before it a clock that
 * {@link Steps} moves.
 */
final class Probe<T> extends AbstractStreamOperator<T> implements OneInputStreamOperator<T, T> {
    private final String name;
    private final boolean manual;
    private final long costNanos;

    Probe(String name, boolean manual) {
        this(name, manual, 0);
    }

    /** {@code costNanos}: how long every record takes, at least. */
    Probe(String name, boolean manual, long costNanos) {
        this.name = name;
        this.manual = manual;
        this.costNanos = costNanos;
    }

    @Override
    protected void setup(StreamTask<?, ?> task, StreamConfig config, Output<StreamRecord<T>> output) {
        super.setup(task, config, output);
        if (manual) {
            try {
                Field service = StreamTask.class.getDeclaredField("timerService");
                service.setAccessible(true);
                if (!(service.get(task) instanceof ManualTime)) {
                    service.set(task, new ManualTime());
                }
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private void note(String event) {
        if (name != null) {
            Log.add(name + "/" + getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(), event);
        }
    }

    @Override
    public void processElement(StreamRecord<T> element) {
        String timestamp = element.hasTimestamp() ? String.valueOf(element.getTimestamp()) : "null";
        note("[\"rec\"," + Event.shown(element.getValue()) + "," + timestamp + "]");
        if (costNanos > 0) {
            LockSupport.parkNanos(costNanos);
        }
        output.collect(element);
    }

    @Override
    public void processWatermark(Watermark watermark) throws Exception {
        note(Event.text("wm", watermark.getTimestamp()));
        super.processWatermark(watermark);
    }

    @Override
    public void processWatermarkStatus(WatermarkStatus status) throws Exception {
        note(Event.text("st", status.isActive() ? "ACTIVE" : "IDLE"));
        super.processWatermarkStatus(status);
    }
}

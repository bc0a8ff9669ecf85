package flowsim.differential;

import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkOutputMultiplexer;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.operators.source.TimestampsAndWatermarks;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.io.PushingAsyncDataInput;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.OutputTag;

/** Everything that the real classes of event time may speak to: it notes what they say. */
public class EventTimeLog
        implements PushingAsyncDataInput.DataOutput<Object>,
                Output<StreamRecord<Object>>,
                WatermarkOutput,
                TimestampsAndWatermarks.WatermarkUpdateListener,
                WatermarkOutputMultiplexer.WatermarkUpdateListener {
    private final String name;
    private final StringBuilder heard;

    public EventTimeLog() {
        this("", new StringBuilder());
    }

    private EventTimeLog(String name, StringBuilder heard) {
        this.name = name;
        this.heard = heard;
    }

    /** Another voice in the same log. */
    public EventTimeLog named(String other) {
        return new EventTimeLog(other + " ", heard);
    }

    public void note(String said) {
        heard.append(heard.length() == 0 ? "" : ";").append(name).append(said);
    }

    /** What was said since the last time. */
    public String take() {
        String said = heard.toString();
        heard.setLength(0);
        return said;
    }

    @Override
    public void emitRecord(StreamRecord<Object> record) {
        note("rec " + record.getValue() + " " + record.getTimestamp());
    }

    @Override
    public void collect(StreamRecord<Object> record) {
        emitRecord(record);
    }

    @Override
    public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
        note("side");
    }

    @Override
    public void emitWatermark(Watermark mark) {
        note("wm " + mark.getTimestamp());
    }

    @Override
    public void emitWatermark(org.apache.flink.api.common.eventtime.Watermark mark) {
        note("wm " + mark.getTimestamp());
    }

    @Override
    public void emitWatermarkStatus(WatermarkStatus status) {
        note("st " + (status.isIdle() ? "IDLE" : "ACTIVE"));
    }

    @Override
    public void markIdle() {
        note("idle");
    }

    @Override
    public void markActive() {
        note("active");
    }

    @Override
    public void updateIdle(boolean isIdle) {
        note("update idle " + isIdle);
    }

    @Override
    public void updateCurrentEffectiveWatermark(long watermark) {
        note("update " + watermark);
    }

    @Override
    public void updateCurrentSplitWatermark(String splitId, long watermark) {
        note("update " + splitId + " " + watermark);
    }

    @Override
    public void updateCurrentSplitIdle(String splitId, boolean idle) {
        note("update " + splitId + " idle " + idle);
    }

    @Override
    public void splitFinished(String splitId) {
        note("finished " + splitId);
    }

    @Override
    public void onWatermarkUpdate(long watermark) {
        note("reaches " + watermark);
    }

    @Override
    public void onIdleUpdate(boolean idle) {
        note("is idle " + idle);
    }

    @Override
    public void emitLatencyMarker(LatencyMarker marker) {
        note("latency");
    }

    @Override
    public void emitRecordAttributes(RecordAttributes attributes) {
        note("attributes");
    }

    @Override
    public void emitWatermark(WatermarkEvent event) {
        note("event");
    }

    @Override
    public void close() {}
}

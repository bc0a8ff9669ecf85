package flowsim.jobs.described;

import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/** Sends a status in place of a record whose orders are 99 and 0 (idle) or 1 (active). */
final class Statuses extends AbstractStreamOperator<Tuple4<Integer, String, Long, long[]>>
        implements OneInputStreamOperator<
                Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>> {
    private static final long STATUS = 99;

    @Override
    public void processElement(StreamRecord<Tuple4<Integer, String, Long, long[]>> element) {
        long[] orders = element.getValue().f3;
        if (orders.length == 2 && orders[0] == STATUS) {
            output.emitWatermarkStatus(orders[1] == 0 ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE);
        } else {
            output.collect(element);
        }
    }
}

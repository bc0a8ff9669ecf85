package flowsim.jobs;

import flowsim.conform.OperatorBuilder;
import flowsim.conform.PlanNode;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/** The operator of {@code test_conform_jobs.py}: emits a status for some records, and one record before each barrier. */
public final class Speaking implements OperatorBuilder {
    @Override
    public SingleOutputStreamOperator<?> build(PlanNode node) {
        return node.input(0).transform("speaking", Types.LONG, new Operator());
    }

    private static final class Operator extends AbstractStreamOperator<Long>
            implements OneInputStreamOperator<Long, Long> {
        private int count;
        private Long last;

        @Override
        public void processElement(StreamRecord<Long> record) throws Exception {
            count++;
            if (count % 4 == 2) {
                output.emitWatermarkStatus(WatermarkStatus.IDLE);
            } else if (count % 4 == 0) {
                output.emitWatermarkStatus(WatermarkStatus.ACTIVE);
            } else {
                last = record.getValue();
                output.collect(record);
            }
        }

        @Override
        public void prepareSnapshotPreBarrier(long checkpointId) {
            if (last != null) {
                output.collect(new StreamRecord<>(last));
            }
        }
    }
}

package org.apache.flink.runtime.io.network.api.writer;

import flowsim.differential.Driver;
import java.io.IOException;
import org.apache.flink.core.io.IOReadableWritable;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.partition.PartitionDriver;

/** A real RecordWriter, of a channel selector, adaptive or broadcasting, on a partition that is driven beside it. */
public final class WriterDriver extends Driver {
    private static final int LENGTH_PREFIX = 4;

    private final PartitionDriver output;
    private final RecordWriter<Record> writer;

    /** With a {@code maxTraverseSize} above 0 the writer is adaptive. */
    public WriterDriver(PartitionDriver output, int timeout, boolean broadcast, int maxTraverseSize) {
        this.output = output;
        output.tellLengthsOnly();
        writer =
                new RecordWriterBuilder<Record>()
                        .setChannelSelector(new Selector(broadcast))
                        .setTimeout(timeout)
                        .setEnabledAdaptivePartitioner(maxTraverseSize > 0)
                        .setMaxTraverseSize(maxTraverseSize)
                        .build(output.partition());
    }

    @Override
    public void begin() {
        output.begin();
    }

    @Override
    public String execute(String name, int[] n) throws Exception {
        switch (name) {
            case "collect":
                writer.emit(new Record(n[0], n[1] - LENGTH_PREFIX));
                return "-";
            case "idlest":
                return "" + ((AdaptiveLoadBasedRecordWriter<Record>) writer).getIdlestChannelIndex();
            case "to_all":
                writer.broadcastEmit(new Record(0, n[0] - LENGTH_PREFIX));
                return "-";
            case "to_one":
                writer.emit(new Record(0, n[1] - LENGTH_PREFIX), n[0]);
                return "-";
            case "end_of_data":
                output.partition().notifyEndOfData(StopMode.DRAIN);
                return "-";
            case "flush_writer":
                writer.flushAll();
                return "-";
            case "event_of_writer":
                writer.broadcastEvent(new EndOfData(StopMode.NO_DRAIN));
                return "-";
            default:
                return output.execute(name, n);
        }
    }

    @Override
    public String state() {
        StringBuilder loads = new StringBuilder();
        for (int i = 0; i < output.partition().getNumberOfSubpartitions(); i++) {
            loads.append(' ').append(output.partition().getBuffersCountUnsafe(i));
            loads.append(',').append(output.partition().getBytesInQueueUnsafe(i));
        }
        return output.state() + loads;
    }

    /** So many bytes for one channel. */
    private static final class Record implements IOReadableWritable {
        private final int channel;
        private final int length;

        Record(int channel, int length) {
            this.channel = channel;
            this.length = length;
        }

        @Override
        public void write(DataOutputView out) throws IOException {
            out.write(new byte[length]);
        }

        @Override
        public void read(DataInputView in) {}
    }

    private static final class Selector implements ChannelSelector<Record> {
        private final boolean broadcast;

        Selector(boolean broadcast) {
            this.broadcast = broadcast;
        }

        @Override
        public void setup(int channels) {}

        @Override
        public int selectChannel(Record record) {
            return record.channel;
        }

        @Override
        public boolean isBroadcast() {
            return broadcast;
        }
    }
}

package org.apache.flink.runtime.io.network.api.writer;

import java.io.IOException;
import org.apache.flink.core.io.IOReadableWritable;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.partition.PartitionDriver;

/** A real RecordWriter, of a channel selector or broadcasting, on a partition that is driven beside it. */
public final class WriterDriver {
    private static final int LENGTH_PREFIX = 4;

    private final PartitionDriver output;
    private final RecordWriter<Record> writer;

    public WriterDriver(PartitionDriver output, int timeout, boolean broadcast) {
        this.output = output;
        output.tellLengthsOnly();
        writer =
                new RecordWriterBuilder<Record>()
                        .setChannelSelector(new Selector(broadcast))
                        .setTimeout(timeout)
                        .build(output.partition());
    }

    public String run(String command) throws Exception {
        String[] words = command.split(" ");
        int[] n = new int[words.length - 1];
        for (int i = 0; i < n.length; i++) {
            n[i] = Integer.parseInt(words[i + 1]);
        }
        output.begin();
        switch (words[0]) {
            case "collect":
                writer.emit(new Record(n[0], n[1] - LENGTH_PREFIX));
                break;
            case "to_all":
                writer.broadcastEmit(new Record(0, n[0] - LENGTH_PREFIX));
                break;
            case "to_one":
                writer.emit(new Record(0, n[1] - LENGTH_PREFIX), n[0]);
                break;
            case "end_of_data":
                output.partition().notifyEndOfData(StopMode.DRAIN);
                break;
            case "flush_writer":
                writer.flushAll();
                break;
            case "event_of_writer":
                writer.broadcastEvent(new EndOfData(StopMode.NO_DRAIN));
                break;
            default:
                return output.run(command);
        }
        return "- " + output.state();
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

package org.apache.flink.runtime.io.network.partition;

import flowsim.differential.Describe;
import flowsim.differential.Driver;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.CheckpointException;
import org.apache.flink.runtime.checkpoint.CheckpointFailureReason;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.EventAnnouncement;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.util.CloseableIterator;

/**
 * A real PipelinedResultPartition with a pool and a reader on every subpartition, and everything that can be seen of them
 * after each command.
 */
public final class PartitionDriver extends Driver {
    private static final long NEVER = Long.MAX_VALUE / 2;

    private final NetworkBufferPool network;
    private final BufferPool pool;
    private final ResultPartition partition;
    private final PipelinedSubpartition[] subpartitions;
    private final ResultSubpartitionView[] views;
    private final List<Buffer> held = new ArrayList<>();
    private final StringBuilder told = new StringBuilder();
    private final List<CompletableFuture<String>> futures = new ArrayList<>();
    private int written;
    private boolean lengthsOnly;

    public PartitionDriver(
            int segments, int size, int required, int maximum, int count, int perChannel, int overdraft, int exclusive, int wish)
            throws Exception {
        network = new NetworkBufferPool(segments, size);
        pool = network.createBufferPool(required, maximum, count, perChannel, overdraft);
        subpartitions = new PipelinedSubpartition[count];
        views = new ResultSubpartitionView[count];
        PipelinedResultPartition pipelined =
                new PipelinedResultPartition(
                        "task", 0, new ResultPartitionID(), ResultPartitionType.PIPELINED_BOUNDED, subpartitions, 128,
                        new ResultPartitionManager(), null, () -> pool);
        partition = pipelined;
        for (int i = 0; i < count; i++) {
            subpartitions[i] = new PipelinedSubpartition(i, exclusive, wish, partition);
        }
        pipelined.setup();
        pipelined.setChannelStateWriter(new Recorder());
    }

    public ResultPartition partition() {
        return partition;
    }

    /** From now on the length of what is read is told, not the bytes. */
    public void tellLengthsOnly() {
        lengthsOnly = true;
    }

    @Override
    public void begin() {
        told.setLength(0);
    }

    @Override
    public String execute(String name, int[] n) throws Exception {
        switch (name) {
            case "view":
                views[n[0]] = subpartitions[n[0]].createReadView(new Listener(n[0]));
                return "-";
            case "emit":
                partition.emitRecord(bytes(n[1]), n[0]);
                return "-";
            case "broadcast":
                partition.broadcastRecord(bytes(n[0]));
                return "-";
            case "event":
                partition.broadcastEvent(event(n[0], n[1]), n[2] == 1);
                return "-";
            case "end_of_data":
                partition.notifyEndOfData(n[0] == 1 ? StopMode.DRAIN : StopMode.NO_DRAIN);
                return "-";
            case "flush":
                partition.flush(n[0]);
                return "-";
            case "flush_all":
                partition.flushAll();
                return "-";
            case "load":
                return partition.getBuffersCountUnsafe(n[0]) + "," + partition.getBytesInQueueUnsafe(n[0]);
            case "finish":
                partition.finish();
                return "-";
            case "close":
                partition.close();
                return "-";
            case "release":
                partition.release();
                return "-";
            case "poll":
                return describe(views[n[0]].getNextBuffer());
            case "recycle":
                held.get(n[0]).recycleBuffer();
                return "-";
            case "resume":
                views[n[0]].resumeConsumption();
                return "-";
            case "buffer_size":
                views[n[0]].notifyNewBufferSize(n[1]);
                return "-";
            case "barrier_timeout":
                partition.alignedBarrierTimeout(n[0]);
                return "-";
            case "abort":
                partition.abortCheckpoint(n[0], new CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED));
                return "-";
            default:
                throw new AssertionError(name);
        }
    }

    private ByteBuffer bytes(int length) {
        ByteBuffer bytes = counting(written, length);
        written += length;
        return bytes;
    }

    /** 0 aligned, 1 unaligned, 2 timeoutable barrier, 3 cancellation, 4 announcement. */
    private static AbstractEvent event(int kind, int checkpoint) {
        CheckpointStorageLocationReference place = CheckpointStorageLocationReference.getDefault();
        CheckpointType type = CheckpointType.CHECKPOINT;
        switch (kind) {
            case 0:
                return new CheckpointBarrier(checkpoint, 1, CheckpointOptions.alignedNoTimeout(type, place));
            case 1:
                return new CheckpointBarrier(checkpoint, 1, CheckpointOptions.unaligned(type, place));
            case 2:
                return new CheckpointBarrier(checkpoint, 1, CheckpointOptions.alignedWithTimeout(type, place, NEVER));
            case 3:
                return new CancelCheckpointMarker(checkpoint);
            default:
                return new EventAnnouncement(event(2, checkpoint), 7);
        }
    }

    private String describe(ResultSubpartition.BufferAndBacklog polled) {
        if (polled == null) {
            return "none";
        }
        Buffer buffer = polled.buffer();
        String content = "" + buffer.readableBytes();
        if (buffer.isBuffer()) {
            content = lengthsOnly ? content : Describe.bytes(buffer);
            held.add(buffer);
        }
        return content + "," + buffer.getDataType() + "," + polled.buffersInBacklog() + "," + polled.getNextDataType() + ","
                + polled.getSequenceNumber();
    }

    @Override
    public String state() {
        StringJoiner text = new StringJoiner(" ");
        text.add("[" + told + "]").add("" + pool.getAvailableFuture().isDone()).add("" + pool.bestEffortGetNumOfUsedBuffers());
        text.add("" + network.getNumberOfAvailableMemorySegments());
        text.add("" + partition.numBuffersOut.getCount()).add("" + partition.numBytesOut.getCount());
        for (int i = 0; i < subpartitions.length; i++) {
            text.add(subpartitions[i].getNumberOfQueuedBuffers() + "," + subpartitions[i].getBuffersInBacklogUnsafe());
            if (views[i] != null) {
                text.add(views[i].getAvailabilityAndBacklog(false).isAvailable() + ","
                        + views[i].getAvailabilityAndBacklog(true).isAvailable());
            }
        }
        for (CompletableFuture<String> future : futures) {
            text.add(future.getNow("open"));
        }
        return text.toString();
    }

    private final class Listener implements BufferAvailabilityListener {
        private final int index;

        Listener(int index) {
            this.index = index;
        }

        @Override
        public void notifyDataAvailable(ResultSubpartitionView view) {
            told.append("data").append(index).append(',');
        }

        @Override
        public void notifyPriorityEvent(int number) {
            told.append("priority").append(index).append(':').append(number).append(',');
        }
    }

    private static String lengths(List<Buffer> buffers) {
        StringJoiner text = new StringJoiner("/", "kept:", "");
        for (Buffer each : buffers) {
            text.add(Describe.bytes(each));
            each.recycleBuffer();
        }
        return text.toString();
    }

    private final class Recorder implements ChannelStateWriter {
        @Override
        public void addOutputData(long checkpoint, ResultSubpartitionInfo where, int start, Buffer... data) {
            told.append("state").append(checkpoint).append(':').append(where.getSubPartitionIdx()).append(':');
            told.append(lengths(List.of(data))).append(',');
        }

        @Override
        public void addOutputDataFuture(
                long checkpoint, ResultSubpartitionInfo where, int start, CompletableFuture<List<Buffer>> data) {
            futures.add(data.handle((buffers, failure) -> failure == null ? lengths(buffers) : "failed"));
        }

        @Override
        public void start(long checkpoint, CheckpointOptions options) {}

        @Override
        public void addInputData(long checkpoint, InputChannelInfo where, int start, CloseableIterator<Buffer> data) {}

        @Override
        public void finishInput(long checkpoint) {}

        @Override
        public void finishOutput(long checkpoint) {}

        @Override
        public void abort(long checkpoint, Throwable cause, boolean cleanup) {}

        @Override
        public ChannelStateWriteResult getAndRemoveWriteResult(long checkpoint) {
            return null;
        }

        @Override
        public void close() {}
    }
}

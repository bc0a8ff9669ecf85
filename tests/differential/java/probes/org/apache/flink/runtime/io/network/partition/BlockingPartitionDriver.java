package org.apache.flink.runtime.io.network.partition;

import flowsim.differential.Describe;
import flowsim.differential.Driver;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;

/** A real BoundedBlockingResultPartition, its files and as many readers as wanted. */
public final class BlockingPartitionDriver extends Driver {
    private final BufferPool pool;
    private final ResultPartition partition;
    private final BoundedBlockingSubpartition[] subpartitions;
    private final List<ResultSubpartitionView> views = new ArrayList<>();
    private final Path folder;
    private int written;

    public BlockingPartitionDriver(int segments, int size, int count) throws Exception {
        folder = Files.createTempDirectory("blocking");
        pool = new NetworkBufferPool(segments, size).createBufferPool(count + 1, Integer.MAX_VALUE, count, Integer.MAX_VALUE, 0);
        subpartitions = new BoundedBlockingSubpartition[count];
        partition =
                new BoundedBlockingResultPartition(
                        "task", 0, new ResultPartitionID(), ResultPartitionType.BLOCKING, subpartitions, 128,
                        new ResultPartitionManager(), null, () -> pool);
        for (int i = 0; i < count; i++) {
            BoundedData data = FileChannelBoundedData.create(folder.resolve("" + i), size);
            subpartitions[i] = new BoundedBlockingSubpartition(i, partition, data, false);
        }
        partition.setup();
    }

    /** How many files are left; removes them. */
    public int clean() throws Exception {
        for (ResultSubpartitionView view : views) {
            view.releaseAllResources();
        }
        partition.close();
        partition.release();
        int left = folder.toFile().list().length;
        for (Path file : Files.newDirectoryStream(folder)) {
            Files.delete(file);
        }
        Files.delete(folder);
        return left;
    }

    @Override
    public String execute(String name, int[] n) throws Exception {
        switch (name) {
            case "emit":
                partition.emitRecord(bytes(n[1]), n[0]);
                return "-";
            case "broadcast":
                partition.broadcastRecord(bytes(n[0]));
                return "-";
            case "end_of_data":
                partition.notifyEndOfData(StopMode.DRAIN);
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
            case "view":
                views.add(subpartitions[n[0]].createReadView(view -> {}));
                return "-";
            case "poll":
                return describe(views.get(n[0]).getNextBuffer());
            default:
                throw new AssertionError(name);
        }
    }

    private ByteBuffer bytes(int length) {
        ByteBuffer bytes = counting(written, length);
        written += length;
        return bytes;
    }

    /** In a file an event is an event of no further kind. */
    private static String describe(ResultSubpartition.BufferAndBacklog polled) {
        if (polled == null) {
            return "none";
        }
        Buffer buffer = polled.buffer();
        String content = buffer.isBuffer() ? Describe.bytes(buffer) : "event" + buffer.readableBytes();
        buffer.recycleBuffer();
        return content + "," + polled.buffersInBacklog() + "," + polled.isDataAvailable() + "," + polled.isEventAvailable()
                + "," + polled.getSequenceNumber();
    }

    @Override
    public String state() {
        StringJoiner text = new StringJoiner(" ");
        text.add("" + pool.bestEffortGetNumOfUsedBuffers());
        text.add("" + partition.numBuffersOut.getCount()).add("" + partition.numBytesOut.getCount());
        for (BoundedBlockingSubpartition each : subpartitions) {
            text.add("" + each.getBuffersInBacklogUnsafe());
        }
        for (ResultSubpartitionView view : views) {
            ResultSubpartitionView.AvailabilityWithBacklog without = view.getAvailabilityAndBacklog(false);
            text.add(without.isAvailable() + "," + view.getAvailabilityAndBacklog(true).isAvailable() + ","
                    + without.getBacklog());
        }
        return text.toString();
    }
}

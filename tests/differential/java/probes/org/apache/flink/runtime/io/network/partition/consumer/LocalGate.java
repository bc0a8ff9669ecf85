package org.apache.flink.runtime.io.network.partition.consumer;

import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.io.network.TaskEventDispatcher;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;

/** A gate whose local channels read the subpartitions of one real partition, which the test writes. */
public final class LocalGate extends Input {
    private static final int PLENTY = 2_000;

    private final PipelinedResultPartition partition;

    public LocalGate(int channels, int exclusive, int segmentSize) throws Exception {
        super(1, channels, 1, 1, segmentSize);
        ResultPartitionManager manager = new ResultPartitionManager();
        ResultPartitionID id = new ResultPartitionID();
        NetworkBufferPool output = new NetworkBufferPool(PLENTY, segmentSize);
        ResultSubpartition[] subpartitions = new ResultSubpartition[channels];
        partition =
                new PipelinedResultPartition(
                        "producer",
                        0,
                        id,
                        ResultPartitionType.PIPELINED_BOUNDED,
                        subpartitions,
                        128,
                        manager,
                        null,
                        () -> output.createBufferPool(PLENTY, PLENTY, channels, Integer.MAX_VALUE, 0));
        InputChannel[] made = new InputChannel[channels];
        for (int i = 0; i < channels; i++) {
            PipelinedSubpartition subpartition = subpartition(i, exclusive, partition);
            subpartition.setChannelStateWriter(ChannelStateWriter.NO_OP);
            subpartitions[i] = subpartition;
            made[i] =
                    new LocalInputChannel(
                            gates[0],
                            i,
                            id,
                            new ResultSubpartitionIndexSet(i),
                            manager,
                            new TaskEventDispatcher(),
                            0,
                            0,
                            new SimpleCounter(),
                            new SimpleCounter(),
                            ChannelStateWriter.NO_OP,
                            new ArrayDeque<>());
        }
        partition.setup();
        gates[0].setInputChannels(made);
        start();
    }

    public void emit(int index, int size) throws Exception {
        partition.emitRecord(ByteBuffer.allocate(size), index);
    }

    public void broadcast(int size) throws Exception {
        partition.broadcastRecord(ByteBuffer.allocate(size));
    }

    public void event(String name, int id) throws Exception {
        partition.broadcastEvent(Events.event(name, id), Events.overtakes(name));
    }

    public void endData(boolean drain) throws Exception {
        partition.notifyEndOfData(drain ? StopMode.DRAIN : StopMode.NO_DRAIN);
    }

    public void flush(int index) {
        partition.flush(index);
    }

    public void flushAll() {
        partition.flushAll();
    }

    public void timeout(int checkpoint) throws Exception {
        partition.alignedBarrierTimeout(checkpoint);
    }

    public void finish() throws Exception {
        partition.finish();
    }

    public void resume(int index) throws Exception {
        gates[0].getChannel(index).resumeConsumption();
    }

    @Override
    String channel(InputChannel channel) {
        return (channel.isReleased() ? "released " : "") + "queued " + channel.unsynchronizedGetNumberOfQueuedBuffers();
    }

    private static PipelinedSubpartition subpartition(int index, int exclusive, ResultPartition parent)
            throws Exception {
        Constructor<PipelinedSubpartition> constructor =
                PipelinedSubpartition.class.getDeclaredConstructor(int.class, int.class, int.class, ResultPartition.class);
        constructor.setAccessible(true);
        return constructor.newInstance(index, exclusive, Integer.MAX_VALUE, parent);
    }
}

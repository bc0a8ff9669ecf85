package org.apache.flink.runtime.io.network.netty;

import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.io.network.NetworkSequenceViewReader;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.PipelinedResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultPartitionManager;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.io.network.partition.consumer.Events;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannelID;
import org.apache.flink.shaded.netty4.io.netty.channel.ChannelHandlerContext;
import org.apache.flink.shaded.netty4.io.netty.channel.ChannelOutboundHandlerAdapter;
import org.apache.flink.shaded.netty4.io.netty.channel.ChannelPromise;
import org.apache.flink.shaded.netty4.io.netty.channel.embedded.EmbeddedChannel;

/** The real queue of one connection with a reader for each of some subpartitions; the wire is the test's. */
public final class Senders {
    private static final int SEGMENT = 8;

    private final PartitionRequestQueue queue = new PartitionRequestQueue();
    private final Wire wire = new Wire();
    private final EmbeddedChannel channel = new EmbeddedChannel(wire, queue);
    private final PipelinedSubpartition[] subpartitions;
    private final BufferBuilder[] builders;
    private final CreditBasedSequenceNumberingViewReader[] readers;
    private final InputChannelID[] ids;
    private final Map<InputChannelID, Integer> indexes = new HashMap<>();

    public Senders(int channels, int exclusive, int credit, boolean slow) throws Exception {
        wire.slow = slow;
        subpartitions = new PipelinedSubpartition[channels];
        builders = new BufferBuilder[channels];
        readers = new CreditBasedSequenceNumberingViewReader[channels];
        ids = new InputChannelID[channels];
        ResultSubpartition[] all = new ResultSubpartition[channels];
        ResultPartitionManager manager = new ResultPartitionManager();
        ResultPartitionID id = new ResultPartitionID();
        NetworkBufferPool memory = new NetworkBufferPool(2 * channels + 2, SEGMENT);
        PipelinedResultPartition partition =
                new PipelinedResultPartition(
                        "producer",
                        0,
                        id,
                        ResultPartitionType.PIPELINED_BOUNDED,
                        all,
                        128,
                        manager,
                        null,
                        () -> memory.createBufferPool(channels + 1, 2 * channels + 2));
        Constructor<PipelinedSubpartition> constructor =
                PipelinedSubpartition.class.getDeclaredConstructor(int.class, int.class, int.class, ResultPartition.class);
        constructor.setAccessible(true);
        for (int i = 0; i < channels; i++) {
            subpartitions[i] = constructor.newInstance(i, exclusive, Integer.MAX_VALUE, partition);
            subpartitions[i].setChannelStateWriter(ChannelStateWriter.NO_OP);
            all[i] = subpartitions[i];
        }
        partition.setup();
        for (int i = 0; i < channels; i++) {
            ids[i] = new InputChannelID();
            indexes.put(ids[i], i);
            readers[i] = new CreditBasedSequenceNumberingViewReader(ids[i], credit, queue);
            readers[i].requestSubpartitionViewOrRegisterListener(manager, id, new ResultSubpartitionIndexSet(i));
        }
        channel.runPendingTasks();
    }

    public int add(int index, int size, boolean finished) {
        builders[index] =
                new BufferBuilder(MemorySegmentFactory.allocateUnpooledSegment(SEGMENT), FreeingBufferRecycler.INSTANCE);
        builders[index].appendAndCommit(ByteBuffer.allocate(size));
        int answer = subpartitions[index].add(builders[index].createBufferConsumerFromBeginning(), 0);
        if (finished) {
            channel.runPendingTasks();
            finishBuffer(index);
        }
        return answer;
    }

    public int append(int index, int size) {
        return builders[index].appendAndCommit(ByteBuffer.allocate(size));
    }

    public void finishBuffer(int index) {
        builders[index].finish();
        builders[index].close();
        builders[index] = null;
    }

    public int event(int index, String name, int id) throws Exception {
        boolean overtakes = Events.overtakes(name);
        return subpartitions[index].add(EventSerializer.toBufferConsumer(Events.event(name, id), overtakes), 0);
    }

    public void timeout(int index, int checkpoint) throws Exception {
        subpartitions[index].alignedBarrierTimeout(checkpoint);
    }

    public void flush(int index) {
        subpartitions[index].flush();
    }

    public void finish(int index) throws Exception {
        subpartitions[index].finish();
    }

    public void credit(int index, int credit) throws Exception {
        queue.addCreditOrResumeConsumption(ids[index], reader -> reader.addCredit(credit));
    }

    public void resume(int index) throws Exception {
        queue.addCreditOrResumeConsumption(ids[index], NetworkSequenceViewReader::resumeConsumption);
    }

    /** The oldest buffer on a slow wire is written. */
    public void written() {
        wire.promises.remove().setSuccess();
    }

    public void writable(boolean writable) {
        channel.unsafe().outboundBuffer().setUserDefinedWritability(1, writable);
    }

    /** Everything that is due has run; what was sent since the last time, and what can be seen from outside. */
    public String state() {
        channel.runPendingTasks();
        channel.checkException();
        StringJoiner all = new StringJoiner("; ");
        wire.sent.forEach(all::add);
        wire.sent.clear();
        all.add("on the wire " + wire.promises.size());
        for (int i = 0; i < readers.length; i++) {
            all.add(
                    "credits " + readers[i].getNumCreditsAvailable() + " queued "
                            + subpartitions[i].getNumberOfQueuedBuffers()
                            + (readers[i].isRegisteredAsAvailable() ? " registered" : ""));
        }
        return all.toString();
    }

    private final class Wire extends ChannelOutboundHandlerAdapter {
        private final Deque<ChannelPromise> promises = new ArrayDeque<>();
        private final List<String> sent = new ArrayList<>();
        private boolean slow;

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            if (message instanceof NettyMessage.BufferResponse) {
                NettyMessage.BufferResponse response = (NettyMessage.BufferResponse) message;
                sent.add(
                        "buffer " + indexes.get(response.receiverId) + " " + response.dataType + " "
                                + response.bufferSize + " number " + response.sequenceNumber + " backlog "
                                + response.backlog);
                response.getBuffer().recycleBuffer();
                if (slow) {
                    promises.add(promise);
                    return;
                }
            } else if (message instanceof NettyMessage.BacklogAnnouncement) {
                NettyMessage.BacklogAnnouncement announcement = (NettyMessage.BacklogAnnouncement) message;
                sent.add("backlog " + indexes.get(announcement.receiverId) + " " + announcement.backlog);
            } else {
                sent.add(message.toString());
            }
            promise.setSuccess();
        }

        @Override
        public void flush(ChannelHandlerContext context) {}
    }
}

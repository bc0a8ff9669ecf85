package org.apache.flink.runtime.io.network.partition.consumer;

import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.event.TaskEvent;
import org.apache.flink.runtime.io.network.ConnectionID;
import org.apache.flink.runtime.io.network.ConnectionManager;
import org.apache.flink.runtime.io.network.PartitionRequestClient;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;

/** Gates whose channels are remote; the test is the connection: it brings what arrives, and hears what is sent back. */
public class RemoteGates extends Input {
    private final List<String> sentBack = new ArrayList<>();

    public RemoteGates(int gates, int channels, int exclusive, int floating, int segments) throws Exception {
        this(gates, channels, exclusive, floating, segments, 8);
    }

    RemoteGates(int gates, int channels, int exclusive, int floating, int segments, int segmentSize) throws Exception {
        super(gates, channels, floating, segments, segmentSize);
        ConnectionID connection =
                new ConnectionID(ResourceID.generate(), InetSocketAddress.createUnresolved("sender", 1), 0);
        ConnectionManager connections = new Connections();
        for (SingleInputGate gate : this.gates) {
            // Of one partition, the gate keeps its channels in the order of their indexes.
            ResultPartitionID partition = new ResultPartitionID();
            InputChannel[] made = new InputChannel[channels];
            for (int i = 0; i < channels; i++) {
                made[i] =
                        new RemoteInputChannel(
                                gate,
                                i,
                                partition,
                                new ResultSubpartitionIndexSet(0),
                                connection,
                                connections,
                                0,
                                0,
                                0,
                                exclusive,
                                new SimpleCounter(),
                                new SimpleCounter(),
                                ChannelStateWriter.NO_OP,
                                new ArrayDeque<>());
            }
            gate.setInputChannels(made);
        }
        start();
    }

    /** A data buffer arrives, as the decoder and the handler of the connection treat it. */
    public void data(int gate, int index, int size, int number, int backlog) throws Exception {
        RemoteInputChannel channel = at(gate, index);
        if (channel.isReleased()) {
            return;
        }
        Buffer buffer = channel.requestBuffer();
        if (buffer == null) {
            throw new IllegalStateException("no buffer is reserved");
        }
        if (size == 0) {
            buffer.recycleBuffer();
            channel.onEmptyBuffer(number, backlog);
        } else {
            buffer.setSize(size);
            channel.onBuffer(buffer, number, backlog, 0);
        }
    }

    public void event(int gate, int index, String name, int id, int number, int backlog) throws Exception {
        RemoteInputChannel channel = at(gate, index);
        if (!channel.isReleased()) {
            Buffer buffer = EventSerializer.toBuffer(Events.event(name, id), Events.overtakes(name));
            channel.onBuffer(buffer, number, backlog, 0);
        }
    }

    public void backlog(int gate, int index, int backlog) throws Exception {
        if (!at(gate, index).isReleased()) {
            at(gate, index).onSenderBacklog(backlog);
        }
    }

    public int announce(int gate, int index) {
        return at(gate, index).getAndResetUnannouncedCredit();
    }

    public void resume(int gate, int index) throws Exception {
        at(gate, index).resumeConsumption();
    }

    public void acknowledge(int gate, int index) throws Exception {
        at(gate, index).acknowledgeAllRecordsProcessed();
    }

    public void overtake(int gate, int index, int number) throws Exception {
        at(gate, index).convertToPriorityEvent(number);
    }

    /** What was sent back since the last time. */
    public List<String> sentBack() {
        List<String> sent = new ArrayList<>(sentBack);
        sentBack.clear();
        return sent;
    }

    @Override
    String channel(InputChannel channel) {
        RemoteInputChannel remote = (RemoteInputChannel) channel;
        BufferManager buffers = remote.getBufferManager();
        return (remote.isReleased() ? "released " : "") + "queued " + remote.getNumberOfQueuedBuffers() + " credit "
                + remote.getUnannouncedCredit() + " exclusive " + buffers.unsynchronizedGetAvailableExclusiveBuffers()
                + " floating " + buffers.unsynchronizedGetFloatingBuffersAvailable() + " required "
                + buffers.getNumberOfRequiredBuffers() + (remote.isWaitingForFloatingBuffers() ? " waiting" : "")
                + " in use " + remote.getBuffersInUseCount();
    }

    final RemoteInputChannel at(int gate, int index) {
        return (RemoteInputChannel) gates[gate].getChannel(index);
    }

    private final class Connections implements ConnectionManager {
        @Override
        public int start() {
            return 0;
        }

        @Override
        public PartitionRequestClient createPartitionRequestClient(ConnectionID connection) {
            return new Client();
        }

        @Override
        public void closeOpenChannelConnections(ConnectionID connection) {}

        @Override
        public int getNumberOfActiveConnections() {
            return 1;
        }

        @Override
        public void shutdown() {}
    }

    /** A message to the sender. */
    void sent(String what, RemoteInputChannel channel) {
        sentBack.add(
                what + " " + channel.getChannelInfo().getGateIdx() + "."
                        + channel.getChannelInfo().getInputChannelIdx());
    }

    private final class Client implements PartitionRequestClient {
        @Override
        public void requestSubpartition(
                ResultPartitionID partition,
                ResultSubpartitionIndexSet subpartitions,
                RemoteInputChannel channel,
                int delay) {}

        @Override
        public void notifyCreditAvailable(RemoteInputChannel channel) {
            sent("credit", channel);
        }

        @Override
        public void notifyNewBufferSize(RemoteInputChannel channel, int size) {
            sent("size", channel);
        }

        @Override
        public void notifyRequiredSegmentId(RemoteInputChannel channel, int subpartition, int segment) {}

        @Override
        public void resumeConsumption(RemoteInputChannel channel) {
            sent("resume", channel);
        }

        @Override
        public void acknowledgeAllRecordsProcessed(RemoteInputChannel channel) {
            sent("processed", channel);
        }

        @Override
        public void sendTaskEvent(ResultPartitionID partition, TaskEvent event, RemoteInputChannel channel) {}

        @Override
        public void close(RemoteInputChannel channel) {}
    }
}

package flowsim.conform;

import static flowsim.conform.Conductor.field;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.io.network.api.writer.ChannelSelectorRecordWriter;
import org.apache.flink.runtime.io.network.api.writer.MultipleRecordWriters;
import org.apache.flink.runtime.io.network.api.writer.RecordWriter;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.io.network.api.writer.SingleRecordWriter;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.buffer.BufferConsumerWithPartialRecordLength;
import org.apache.flink.runtime.io.network.partition.BufferWritingResultPartition;
import org.apache.flink.runtime.io.network.partition.PipelinedSubpartition;
import org.apache.flink.runtime.io.network.partition.PrioritizedDeque;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultSubpartition;
import org.apache.flink.runtime.io.network.partition.consumer.InputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.InputGate;
import org.apache.flink.runtime.io.network.partition.consumer.LocalInputChannel;
import org.apache.flink.runtime.io.network.partition.consumer.RemoteInputChannel;
import org.apache.flink.runtime.taskmanager.InputGateWithMetrics;
import org.apache.flink.runtime.taskmanager.Task;
import org.apache.flink.streaming.runtime.partitioner.RebalancePartitioner;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.tasks.StreamTask;

/** What is between the tasks of a job: in buffers that wait to be flushed, on the network, in buffers that wait to be read. */
final class Channels {
    private final Map<ResultPartitionID, ResultSubpartition[]> senders = new HashMap<>();

    void of(List<Task> tasks) throws ReflectiveOperationException {
        for (Task task : tasks) {
            for (Object writer : (Object[]) field(Task.class, task, "partitionWriters")) {
                ResultSubpartition[] subpartitions =
                        (ResultSubpartition[]) field(BufferWritingResultPartition.class, writer, "subpartitions");
                senders.put(((ResultPartitionWriter) writer).getPartitionId(), subpartitions);
            }
        }
    }

    /**
     * A channel that was asked for before its sender was there asks again later: until then data waits for it. One that has
     * been read to its end is released.
     */
    static boolean isConnected(InputChannel channel) throws ReflectiveOperationException {
        if (channel instanceof LocalInputChannel) {
            return field(LocalInputChannel.class, channel, "subpartitionView") != null
                    || (Boolean) field(LocalInputChannel.class, channel, "isReleased");
        }
        return channel instanceof RemoteInputChannel
                && field(RemoteInputChannel.class, channel, "partitionRequestClient") != null;
    }

    /** Lets writers in turn begin with the first channel: Flink lets chance choose it. */
    static void beginWithFirstChannel(Task task) throws ReflectiveOperationException {
        for (RecordWriter<?> writer : writers(task)) {
            if (writer instanceof ChannelSelectorRecordWriter) {
                Object selector = field(ChannelSelectorRecordWriter.class, writer, "channelSelector");
                if (selector instanceof RebalancePartitioner) {
                    Field next = RebalancePartitioner.class.getDeclaredField("nextChannelToSendTo");
                    next.setAccessible(true);
                    next.setInt(selector, (Integer) field(StreamPartitioner.class, selector, "numberOfChannels") - 1);
                }
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static List<RecordWriter<?>> writers(Task task) throws ReflectiveOperationException {
        Object delegate = field(StreamTask.class, field(Task.class, task, "invokable"), "recordWriter");
        if (delegate instanceof SingleRecordWriter) {
            return List.of(((SingleRecordWriter<?>) delegate).getRecordWriter(0));
        }
        return delegate instanceof MultipleRecordWriters
                ? (List<RecordWriter<?>>) field(MultipleRecordWriters.class, delegate, "recordWriters")
                : List.of();
    }

    /**
     * Whether the task has read everything that its senders have written and that is to come out of the channels. With {@code
     * isHeldUp} a channel may wait for the barrier of another one, whose sender stands still.
     */
    boolean areRead(Task task, boolean isHeldUp) throws ReflectiveOperationException {
        for (Object gate : (Object[]) field(Task.class, task, "inputGates")) {
            InputGate inner = (InputGate) field(InputGateWithMetrics.class, gate, "inputGate");
            for (int number = 0; number < inner.getNumberOfInputChannels(); number++) {
                if (!isRead(inner.getChannel(number), isHeldUp)) {
                    return false;
                }
            }
        }
        return true;
    }

    private boolean isRead(InputChannel channel, boolean isHeldUp) throws ReflectiveOperationException {
        Object id = field(InputChannel.class, channel, "partitionId");
        int index = (Integer) field(InputChannel.class, channel, "subpartitionId");
        ResultSubpartition[] known = senders.get(id);
        if (known == null) {
            return true; // its sender has finished, which it does when all has been read
        }
        PipelinedSubpartition sender = (PipelinedSubpartition) known[index];
        int sent;
        PrioritizedDeque<?> written = (PrioritizedDeque<?>) field(PipelinedSubpartition.class, sender, "buffers");
        synchronized (written) {
            if (isHeldUp && (Boolean) field(PipelinedSubpartition.class, sender, "isBlocked")) {
                return true;
            }
            if (written.size() > 1 || written.size() == 1 && isToCome(written.peek())) {
                return false;
            }
            sent = (Integer) field(PipelinedSubpartition.class, sender, "sequenceNumber");
        }
        if (!(channel instanceof RemoteInputChannel)) {
            return true;
        }
        PrioritizedDeque<?> received = (PrioritizedDeque<?>) field(RemoteInputChannel.class, channel, "receivedBuffers");
        synchronized (received) {
            int arrived = (Integer) field(RemoteInputChannel.class, channel, "expectedSequenceNumber");
            return received.isEmpty() && arrived == sent;
        }
    }

    private boolean isToCome(Object only) {
        BufferConsumer buffer = ((BufferConsumerWithPartialRecordLength) only).getBufferConsumer();
        return buffer.isFinished() || buffer.isDataAvailable();
    }
}

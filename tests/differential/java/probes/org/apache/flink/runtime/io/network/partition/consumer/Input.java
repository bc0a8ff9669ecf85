package org.apache.flink.runtime.io.network.partition.consumer;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferPool;
import org.apache.flink.runtime.io.network.buffer.NetworkBufferPool;
import org.apache.flink.runtime.io.network.partition.ResultPartitionType;
import org.apache.flink.runtime.jobgraph.IntermediateDataSetID;
import org.apache.flink.runtime.throughput.ThroughputCalculator;
import org.apache.flink.util.clock.ManualClock;

/** One real gate, or several under a real union, read as a task reads them; data that was read is held until recycled. */
abstract class Input {
    final NetworkBufferPool memory;
    final SingleInputGate[] gates;
    final BufferPool[] pools;
    private final List<Buffer> held = new ArrayList<>();
    InputGate input;

    Input(int gateCount, int channels, int floating, int segments, int segmentSize) throws Exception {
        memory = new NetworkBufferPool(segments, segmentSize);
        gates = new SingleInputGate[gateCount];
        pools = new BufferPool[gateCount];
        for (int i = 0; i < gateCount; i++) {
            BufferPool pool = memory.createBufferPool(1, floating);
            pools[i] = pool;
            gates[i] =
                    new SingleInputGate(
                            "task",
                            i,
                            new IntermediateDataSetID(),
                            ResultPartitionType.PIPELINED_BOUNDED,
                            channels,
                            (result, partition, response) -> {},
                            () -> pool,
                            null,
                            memory,
                            segmentSize,
                            new ThroughputCalculator(new ManualClock(1)),
                            null);
        }
    }

    /** To be called when all gates have their channels. */
    final void start() throws Exception {
        for (SingleInputGate gate : gates) {
            gate.setup();
        }
        for (SingleInputGate gate : gates) {
            gate.requestPartitions();
        }
        input = gates.length == 1 ? gates[0] : new UnionInputGate(gates);
    }

    public String poll() throws Exception {
        Optional<BufferOrEvent> found = input.pollNext();
        if (!found.isPresent()) {
            return "nothing";
        }
        BufferOrEvent read = found.get();
        String what;
        if (read.isBuffer()) {
            held.add(read.getBuffer());
            what = "data " + read.getBuffer().readableBytes();
        } else {
            what = Events.name(read.getEvent()) + (read.hasPriority() ? " with priority" : "");
        }
        InputChannelInfo from = read.getChannelInfo();
        return from.getGateIdx() + "." + from.getInputChannelIdx() + " " + what + (read.moreAvailable() ? " more" : "")
                + (read.morePriorityEvents() ? " more priority" : "");
    }

    public void recycle(int index) {
        held.remove(index).recycleBuffer();
    }

    public void close(int gate) throws Exception {
        gates[gate].close();
    }

    /** What can be seen from outside: the input, every gate, its pool and its channels. */
    public String state() throws Exception {
        StringJoiner all = new StringJoiner("; ");
        all.add("memory " + memory.getNumberOfAvailableMemorySegments());
        all.add(flags(input));
        for (int i = 0; i < gates.length; i++) {
            SingleInputGate gate = gates[i];
            all.add("gate " + i + " " + flags(gate) + " queued " + gate.getNumberOfQueuedBuffers());
            all.add("pool " + pools[i].getNumberOfAvailableMemorySegments() + " of " + requested(pools[i]));
            for (int c = 0; c < gate.getNumberOfInputChannels(); c++) {
                all.add(channel(gate.getChannel(c)));
            }
        }
        return all.toString();
    }

    abstract String channel(InputChannel channel);

    private static int requested(BufferPool pool) throws Exception {
        var field = pool.getClass().getDeclaredField("numberOfRequestedMemorySegments");
        field.setAccessible(true);
        return field.getInt(pool);
    }

    private static String flags(InputGate gate) {
        return (gate.getAvailableFuture().isDone() ? "available " : "waiting ")
                + (gate.getPriorityEventAvailableFuture().isDone() ? "priority " : "")
                + (gate.isFinished() ? "finished " : "")
                + gate.hasReceivedEndOfData();
    }
}

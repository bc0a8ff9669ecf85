package org.apache.flink.runtime.io.network.partition.consumer;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor.MappingType;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.RescaleMappings;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.TaskStateSnapshot;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.channel.SequentialChannelStateReaderImpl;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.EventSerializer;
import org.apache.flink.runtime.io.network.api.writer.ResultPartitionWriter;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.BufferBuilder;
import org.apache.flink.runtime.io.network.buffer.BufferConsumer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.io.network.partition.CheckpointedResultPartition;
import org.apache.flink.runtime.io.network.partition.ResultPartitionID;
import org.apache.flink.runtime.io.network.partition.ResultSubpartitionIndexSet;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.streaming.runtime.io.recovery.RecordFilterContext;

/**
 * What a real SequentialChannelStateReader puts into the new channels and subpartitions of a task.
 *
 * <p>The first line is the number of new channels of each gate, or of new subpartitions of each partition, and the
 * descriptor: per gate the old channels of each new one, or "-" for none. The others are handles: STREAM SUBTASK GATE CHANNEL
 * OFFSET...; the buffer at an offset of a stream is their text, "STREAM.OFFSET". The answer has a line per new channel.
 */
public final class RecoveredGates extends Input {
    private static final int SEGMENT = 4096;
    private static final int MOST = 4;
    private static final int SIZE = 40;

    private final Map<String, StringJoiner> found;

    private RecoveredGates(int[] channels, Map<String, StringJoiner> found) throws Exception {
        super(channels.length, MOST, 1, 2 * channels.length, SEGMENT);
        this.found = found;
        for (int gate = 0; gate < channels.length; gate++) {
            int number = gate;
            gates[gate].setInputChannels(
                    IntStream.range(0, MOST).mapToObj(i -> new Channel(number, i)).toArray(InputChannel[]::new));
        }
    }

    private final class Channel extends RecoveredInputChannel {
        private final String name;

        Channel(int gate, int index) {
            super(
                    gates[gate],
                    index,
                    new ResultPartitionID(),
                    new ResultSubpartitionIndexSet(0),
                    0,
                    0,
                    new SimpleCounter(),
                    new SimpleCounter(),
                    1);
            name = gate + "." + index;
        }

        @Override
        protected InputChannel toInputChannelInternal(ArrayDeque<Buffer> left) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Buffer requestBufferBlocking() {
            return new NetworkBuffer(
                    MemorySegmentFactory.allocateUnpooledSegment(SEGMENT), FreeingBufferRecycler.INSTANCE);
        }

        @Override
        public void onRecoveredStateBuffer(Buffer buffer) {
            add(found, name, buffer);
        }

        @Override
        public void finishReadRecoveredState() {}
    }

    @Override
    String channel(InputChannel channel) {
        return "";
    }

    public static String inputs(String script) throws Exception {
        String[] lines = script.split("\n");
        Map<String, StringJoiner> found = new TreeMap<>();
        RecoveredGates task = new RecoveredGates(counts(lines[0]), found);
        List<InputChannelStateHandle> handles = new ArrayList<>();
        for (String[] words : words(lines)) {
            handles.add(
                    new InputChannelStateHandle(
                            Integer.parseInt(words[1]),
                            new InputChannelInfo(Integer.parseInt(words[2]), Integer.parseInt(words[3])),
                            stream(words[0], SIZE),
                            offsets(words),
                            1));
        }
        OperatorSubtaskState state =
                OperatorSubtaskState.builder()
                        .setInputChannelState(new StateObjectCollection<>(new ArrayList<>(handles)))
                        .setInputRescalingDescriptor(descriptor(lines[0]))
                        .build();
        try {
            reader(state).readInputData(task.gates, RecordFilterContext.disabled());
        } catch (IllegalStateException e) {
            return "refused";
        }
        return text(found);
    }

    public static String outputs(String script) throws Exception {
        String[] lines = script.split("\n");
        Map<String, StringJoiner> found = new TreeMap<>();
        int[] counts = counts(lines[0]);
        ResultPartitionWriter[] writers =
                IntStream.range(0, counts.length)
                        .mapToObj(partition -> writer(partition, found))
                        .toArray(ResultPartitionWriter[]::new);
        List<ResultSubpartitionStateHandle> handles = new ArrayList<>();
        for (String[] words : words(lines)) {
            handles.add(
                    new ResultSubpartitionStateHandle(
                            Integer.parseInt(words[1]),
                            new ResultSubpartitionInfo(Integer.parseInt(words[2]), Integer.parseInt(words[3])),
                            stream(words[0], SIZE),
                            offsets(words),
                            1));
        }
        OperatorSubtaskState state =
                OperatorSubtaskState.builder()
                        .setResultSubpartitionState(new StateObjectCollection<>(new ArrayList<>(handles)))
                        .setOutputRescalingDescriptor(descriptor(lines[0]))
                        .build();
        try {
            reader(state).readOutputData(writers, true);
        } catch (IllegalStateException e) {
            return "refused";
        }
        return text(found);
    }

    private static ResultPartitionWriter writer(int partition, Map<String, StringJoiner> found) {
        return (ResultPartitionWriter)
                Proxy.newProxyInstance(
                        RecoveredGates.class.getClassLoader(),
                        new Class<?>[] {ResultPartitionWriter.class, CheckpointedResultPartition.class},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "requestBufferBuilderBlocking":
                                    return new BufferBuilder(
                                            MemorySegmentFactory.allocateUnpooledSegment(SEGMENT),
                                            FreeingBufferRecycler.INSTANCE);
                                case "getCheckpointedSubpartitionInfo":
                                    return new ResultSubpartitionInfo(partition, (int) arguments[0]);
                                case "addRecovered":
                                    add(found, partition + "." + arguments[0], ((BufferConsumer) arguments[1]).build());
                                    return null;
                                default:
                                    return null;
                            }
                        });
    }

    private static void add(Map<String, StringJoiner> found, String channel, Buffer buffer) {
        try {
            String text;
            if (buffer.isBuffer()) {
                ByteBuffer bytes = buffer.getNioBufferReadable();
                text = bytes.getInt() + "." + bytes.getInt();
            } else {
                AbstractEvent event = EventSerializer.fromBuffer(buffer, RecoveredGates.class.getClassLoader());
                SubtaskConnectionDescriptor old = (SubtaskConnectionDescriptor) event;
                text = "(" + old.getInputSubtaskIndex() + "," + old.getOutputSubtaskIndex() + ")";
            }
            found.computeIfAbsent(channel, name -> new StringJoiner(" ")).add(text);
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static SequentialChannelStateReaderImpl reader(OperatorSubtaskState state) {
        Map<OperatorID, OperatorSubtaskState> states = new HashMap<>();
        states.put(new OperatorID(1, 1), state);
        return new SequentialChannelStateReaderImpl(new TaskStateSnapshot(states));
    }

    private static String text(Map<String, StringJoiner> found) {
        StringJoiner lines = new StringJoiner("\n");
        found.forEach((name, contents) -> lines.add(name + ": " + contents));
        return lines.toString();
    }

    private static List<String[]> words(String[] lines) {
        return Arrays.stream(lines).skip(1).map(line -> line.split(" ")).toList();
    }

    private static int[] counts(String line) {
        return numbers(line.split(";")[0], ",");
    }

    private static int[] numbers(String text, String separator) {
        return text.isEmpty() ? new int[0] : Arrays.stream(text.split(separator)).mapToInt(Integer::parseInt).toArray();
    }

    private static InflightDataRescalingDescriptor descriptor(String line) {
        String described = line.split(";", -1)[1];
        if (described.equals("-")) {
            return InflightDataRescalingDescriptor.NO_RESCALE;
        }
        return new InflightDataRescalingDescriptor(
                Arrays.stream(described.split("\\|", -1))
                        .map(
                                gate ->
                                        new InflightDataGateOrPartitionRescalingDescriptor(
                                                new int[] {0},
                                                RescaleMappings.of(
                                                        Stream.of(gate.split("/", -1)).map(each -> numbers(each, ",")), 8),
                                                Set.of(),
                                                MappingType.RESCALING))
                        .toArray(InflightDataGateOrPartitionRescalingDescriptor[]::new));
    }

    /** Of the places of buffers in a stream, which has a header of 4 bytes. */
    private static List<Long> offsets(String[] words) {
        List<Long> offsets = new ArrayList<>();
        for (int i = 4; i < words.length; i++) {
            offsets.add(4 + 12 * Long.parseLong(words[i]));
        }
        return offsets;
    }

    /** A version, then buffers of 8 bytes after their length. */
    private static ByteStreamStateHandle stream(String name, int buffers) {
        ByteBuffer content = ByteBuffer.allocate(4 + 12 * buffers).putInt(0);
        for (int i = 0; i < buffers; i++) {
            content.putInt(8).putInt(Integer.parseInt(name)).putInt(i);
        }
        return new ByteStreamStateHandle(name, content.array());
    }
}

package org.apache.flink.streaming.runtime.io.recovery;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor;
import org.apache.flink.runtime.checkpoint.RescaleMappings;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.io.disk.iomanager.IOManager;
import org.apache.flink.runtime.io.disk.iomanager.IOManagerAsync;
import org.apache.flink.runtime.io.network.api.SubtaskConnectionDescriptor;
import org.apache.flink.runtime.io.network.api.serialization.RecordDeserializer;
import org.apache.flink.runtime.io.network.api.serialization.RecordDeserializer.DeserializationResult;
import org.apache.flink.runtime.io.network.buffer.Buffer;
import org.apache.flink.runtime.io.network.buffer.FreeingBufferRecycler;
import org.apache.flink.runtime.io.network.buffer.NetworkBuffer;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.plugable.DeserializationDelegate;
import org.apache.flink.runtime.plugable.NonReusingDeserializationDelegate;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.partitioner.KeyGroupStreamPartitioner;
import org.apache.flink.streaming.runtime.partitioner.StreamPartitioner;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/**
 * The real demultiplexing deserializers of all channels of a task, with the real filters, under a script.
 *
 * <p>The first command is the task as JSON. Then: select CHANNEL SUBTASK OLD, data CHANNEL CUT ELEMENT..., unconsumed
 * CHANNEL. A channel that refused a command has failed. Elements and cuts are those of NetworkInputs; what a cut left behind belongs to the old channel.
 */
public final class Demultiplexers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final IOManager SPILLING = new IOManagerAsync();
    private static final int LONG = 200;
    private static final int MOST_CUTS = 3;

    private final StreamElementSerializer<String> serializer =
            new StreamElementSerializer<>(StringSerializer.INSTANCE);
    private final List<DemultiplexingRecordDeserializer<String>> channels = new ArrayList<>();
    private final Set<Integer> failed = new HashSet<>();
    private final Map<Integer, String> selected = new HashMap<>();
    private final Map<String, byte[]> left = new HashMap<>();
    private final Map<String, Integer> cuts = new HashMap<>();

    private Demultiplexers(JsonNode task) {
        int parallelism = task.get("parallelism").asInt();
        JsonNode gates = task.get("gates");
        InflightDataGateOrPartitionRescalingDescriptor[] descriptors =
                new InflightDataGateOrPartitionRescalingDescriptor[gates.size()];
        for (int gate = 0; gate < descriptors.length; gate++) {
            descriptors[gate] = descriptor(gates.get(gate));
        }
        InflightDataRescalingDescriptor rescaling = new InflightDataRescalingDescriptor(descriptors);
        RescalingStreamTaskNetworkInput.DeserializerFactory deserializers =
                new RescalingStreamTaskNetworkInput.DeserializerFactory(SPILLING);
        RescalingStreamTaskNetworkInput.RecordFilterFactory<String> filters =
                new RescalingStreamTaskNetworkInput.RecordFilterFactory<>(
                        task.get("subtask").asInt(),
                        StringSerializer.INSTANCE,
                        parallelism,
                        Demultiplexers::partitioner,
                        task.get("max_parallelism").asInt());
        for (int gate = 0; gate < descriptors.length; gate++) {
            for (int channel = 0; channel < gates.get(gate).get("channels").asInt(); channel++) {
                channels.add(
                        DemultiplexingRecordDeserializer.create(
                                new InputChannelInfo(gate, channel), rescaling, deserializers, filters));
            }
        }
    }

    /** The partitioner of a gate as it is before the task sets it up. */
    private static StreamPartitioner<?> partitioner(int gate) {
        return new KeyGroupStreamPartitioner<String, Integer>(value -> numberOf(value) + gate, 1);
    }

    private static int numberOf(String value) {
        return Integer.parseInt(value.substring(0, value.indexOf(' ')));
    }

    private static InflightDataGateOrPartitionRescalingDescriptor descriptor(JsonNode gate) {
        List<int[]> mappings = new ArrayList<>();
        gate.get("mappings").forEach(mapped -> mappings.add(numbers(mapped)));
        Set<Integer> ambiguous = new HashSet<>();
        gate.get("ambiguous").forEach(subtask -> ambiguous.add(subtask.asInt()));
        return new InflightDataGateOrPartitionRescalingDescriptor(
                numbers(gate.get("old_subtasks")),
                RescaleMappings.of(mappings.stream(), gate.get("old_channels").asInt()),
                ambiguous,
                InflightDataGateOrPartitionRescalingDescriptor.MappingType.RESCALING);
    }

    private static int[] numbers(JsonNode list) {
        int[] numbers = new int[list.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = list.get(i).asInt();
        }
        return numbers;
    }

    /** An answer per command, in lines. */
    public static String run(String script) throws IOException {
        String[] commands = script.split("\n");
        Demultiplexers task = new Demultiplexers(JSON.readTree(commands[0]));
        List<String> answers = new ArrayList<>(List.of(task.known()));
        for (String command : Arrays.asList(commands).subList(1, commands.length)) {
            answers.add(task.answerOrRefusal(command.split(" ")));
        }
        return String.join("\n", answers);
    }

    /** The old channels of each channel. */
    private String known() {
        List<String> known = new ArrayList<>();
        for (DemultiplexingRecordDeserializer<String> channel : channels) {
            List<String> old = new ArrayList<>();
            for (SubtaskConnectionDescriptor each : channel.getVirtualChannelSelectors()) {
                old.add(each.getInputSubtaskIndex() + "/" + each.getOutputSubtaskIndex());
            }
            old.sort(null);
            known.add(String.join(",", old));
        }
        return String.join(" ", known);
    }

    private String answerOrRefusal(String[] words) throws IOException {
        int index = Integer.parseInt(words[1]);
        if (failed.contains(index)) {
            return "failed";
        }
        try {
            return answer(words);
        } catch (IllegalStateException | NullPointerException refused) {
            failed.add(index);
            return "refused";
        }
    }

    private String answer(String[] words) throws IOException {
        int index = Integer.parseInt(words[1]);
        DemultiplexingRecordDeserializer<String> channel = channels.get(index);
        switch (words[0]) {
            case "select":
                channel.select(
                        new SubtaskConnectionDescriptor(Integer.parseInt(words[2]), Integer.parseInt(words[3])));
                selected.put(index, index + " " + words[2] + " " + words[3]);
                return "selected";
            case "unconsumed":
                channel.getUnconsumedBuffer();
                return "unconsumed";
            default:
                byte[] bytes =
                        bytes(
                                selected.getOrDefault(index, ""),
                                Integer.parseInt(words[2]),
                                Arrays.copyOfRange(words, 3, words.length));
                Buffer buffer =
                        new NetworkBuffer(
                                MemorySegmentFactory.wrap(bytes), FreeingBufferRecycler.INSTANCE,
                                Buffer.DataType.DATA_BUFFER, bytes.length);
                return decoded(channel, buffer);
        }
    }

    /** As AbstractStreamTaskNetworkInput reads a buffer; a star follows the element with which the buffer is consumed. */
    private String decoded(DemultiplexingRecordDeserializer<String> channel, Buffer buffer) throws IOException {
        channel.setNextBuffer(buffer);
        DeserializationDelegate<StreamElement> delegate = new NonReusingDeserializationDelegate<>(serializer);
        List<String> elements = new ArrayList<>();
        DeserializationResult result;
        do {
            result = channel.getNextRecord(delegate);
            if (result.isFullRecord()) {
                elements.add(text(delegate.getInstance()) + (result.isBufferConsumed() ? "*" : ""));
            }
            if (buffer.isRecycled() != result.isBufferConsumed()) {
                throw new AssertionError("recycled: " + buffer.isRecycled());
            }
        } while (!result.isBufferConsumed());
        if (channel.hasPartialData()) {
            throw new AssertionError("partial data after " + elements);
        }
        return String.join(" ", elements);
    }

    private static String text(StreamElement element) {
        if (element.isRecord()) {
            StreamRecord<String> record = element.asRecord();
            String value = record.getValue();
            return "r/" + numberOf(value) + "/" + value.length() + "/" + (record.hasTimestamp() ? record.getTimestamp() : "-");
        }
        if (element.isWatermark()) {
            return "w/" + element.asWatermark().getTimestamp();
        }
        if (element.isWatermarkStatus()) {
            return element.asWatermarkStatus().isIdle() ? "idle" : "active";
        }
        return "m";
    }

    private byte[] bytes(String old, int cut, String[] elements) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(64);
        out.write(left.getOrDefault(old, new byte[0]));
        int begin = 0;
        for (String element : elements) {
            begin = out.length();
            out.writeInt(0);
            serializer.serialize(element(element.split("/")), out);
            out.writeIntUnsafe(out.length() - begin - 4, begin);
            cuts.put(old, element.startsWith("r/") && Integer.parseInt(element.split("/")[2]) >= LONG ? MOST_CUTS : 1);
        }
        int thousandths = cuts.getOrDefault(old, 0) == 0 ? 0 : cut;
        cuts.put(old, thousandths == 0 ? 0 : cuts.get(old) - 1);
        byte[] all = out.getCopyOfBuffer();
        int end = Math.min(all.length, begin + Math.max(1, (all.length - begin) * (1000 - thousandths) / 1000));
        left.put(old, Arrays.copyOfRange(all, end, all.length));
        return Arrays.copyOfRange(all, 0, end);
    }

    private static StreamElement element(String[] words) {
        switch (words[0]) {
            case "r":
                String value = words[1] + " " + "x".repeat(Integer.parseInt(words[2]));
                return words[3].equals("-") ? new StreamRecord<>(value) : new StreamRecord<>(value, Long.parseLong(words[3]));
            case "w":
                return new Watermark(Long.parseLong(words[1]));
            case "m":
                return new LatencyMarker(Long.parseLong(words[1]), new OperatorID(), 0);
            default:
                return words[0].equals("idle") ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE;
        }
    }
}

package org.apache.flink.streaming.api.operators.async.queue;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.operators.TimestampedCollector;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.OutputTag;

/** A real queue of an async operator, and a script of commands, with misuse: answers what each did and what is in the queue. */
public final class ElementQueues {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final StreamElementQueue<Object> queue;
    private final List<ResultFuture<Object>> futures = new ArrayList<>();
    private final List<String> log = new ArrayList<>();
    private final TimestampedCollector<Object> collector = new TimestampedCollector<>(new Told());
    private int elements;

    /** Per command: what it answered and emitted; size, emptiness, whether one is done; values; segments if unordered. */
    public static String run(String script) throws Exception {
        JsonNode given = JSON.readTree(script);
        List<Object> answers = new ArrayList<>();
        ElementQueues queue;
        try {
            queue = new ElementQueues(given.get("ordered").asBoolean(), given.get("capacity").asInt());
        } catch (IllegalArgumentException refused) {
            return "[]";
        }
        for (JsonNode command : given.get("commands")) {
            answers.add(queue.answer(command));
        }
        return JSON.writeValueAsString(answers);
    }

    private ElementQueues(boolean ordered, int capacity) {
        queue = ordered ? new OrderedStreamElementQueue<>(capacity) : new UnorderedStreamElementQueue<>(capacity);
    }

    private List<Object> answer(JsonNode command) throws Exception {
        log.clear();
        try {
            play(command);
        } catch (RuntimeException thrown) {
            log.add("throws " + thrown.getClass().getSimpleName());
        }
        List<Object> state = List.of(queue.size(), queue.isEmpty(), queue.hasCompletedElements());
        return List.of(new ArrayList<>(log), state, shown(queue.values()), segments());
    }

    private void play(JsonNode command) {
        switch (command.get(0).asText()) {
            case "r":
                StreamRecord<Object> record = new StreamRecord<>("e" + elements++);
                if (!command.get(1).isNull()) {
                    record.setTimestamp(command.get(1).asLong());
                }
                put(record);
                return;
            case "w":
                elements++;
                put(new Watermark(command.get(1).asLong()));
                return;
            case "complete":
                ResultFuture<Object> future = future(command.get(1).asInt());
                if (future != null) {
                    List<Object> results = new ArrayList<>();
                    command.get(2).forEach(result -> results.add(result.asText()));
                    future.complete(results);
                }
                return;
            case "null":
                future = future(command.get(1).asInt());
                if (future != null) {
                    future.complete((Collection<Object>) null);
                }
                return;
            default:
                queue.emitCompletedElement(collector);
        }
    }

    private void put(StreamElement element) {
        Optional<ResultFuture<Object>> future = queue.tryPut(element);
        log.add(future.isPresent() ? "put" : "full");
        future.ifPresent(futures::add);
    }

    /** One of the last twelve, 0 the last one: done or not, emitted or not, of a watermark too. */
    private ResultFuture<Object> future(int back) {
        return futures.isEmpty() ? null : futures.get(futures.size() - 1 - back % Math.min(futures.size(), 12));
    }

    /** Per segment, what is done and what is not; those that are not in the order of their numbers. */
    private List<List<List<String>>> segments() throws Exception {
        List<List<List<String>>> all = new ArrayList<>();
        if (queue instanceof UnorderedStreamElementQueue) {
            for (Object segment : (Collection<?>) get(queue, "segments")) {
                List<String> waiting = entries(get(segment, "incompleteElements"));
                waiting.sort(null);
                all.add(List.of(entries(get(segment, "completedElements")), waiting));
            }
        }
        return all;
    }

    private static List<String> entries(Object entries) {
        List<StreamElement> elements = new ArrayList<>();
        for (Object entry : (Collection<?>) entries) {
            elements.add(((StreamElementQueueEntry<?>) entry).getInputElement());
        }
        return shown(elements);
    }

    private static Object get(Object target, String name) throws Exception {
        Field field = target.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(target);
    }

    private static List<String> shown(List<StreamElement> elements) {
        List<String> shown = new ArrayList<>();
        for (StreamElement element : elements) {
            shown.add(
                    element.isWatermark() ? "w " + element.asWatermark().getTimestamp()
                            : element.asRecord().getValue() + " " + timestamp(element.asRecord()));
        }
        return shown;
    }

    private static Long timestamp(StreamRecord<?> record) {
        return record.hasTimestamp() ? record.getTimestamp() : null;
    }

    private final class Told implements Output<StreamRecord<Object>> {
        @Override
        public void collect(StreamRecord<Object> record) {
            log.add("rec " + record.getValue() + " " + timestamp(record));
        }

        @Override
        public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {}

        @Override
        public void emitWatermark(Watermark mark) {
            log.add("wm " + mark.getTimestamp());
        }

        @Override
        public void emitWatermarkStatus(WatermarkStatus status) {}

        @Override
        public void emitLatencyMarker(LatencyMarker marker) {}

        @Override
        public void emitRecordAttributes(RecordAttributes attributes) {}

        @Override
        public void emitWatermark(WatermarkEvent event) {}

        @Override
        public void close() {}
    }
}

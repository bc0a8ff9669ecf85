import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;

import org.apache.flink.streaming.api.operators.async.OperatorActions;
import org.apache.flink.streaming.api.operators.async.queue.AsyncCollectionResult;
import org.apache.flink.streaming.api.operators.async.queue.AsyncResult;
import org.apache.flink.streaming.api.operators.async.queue.OrderedStreamElementQueue;
import org.apache.flink.streaming.api.operators.async.queue.StreamElementQueue;
import org.apache.flink.streaming.api.operators.async.queue.StreamElementQueueEntry;
import org.apache.flink.streaming.api.operators.async.queue.StreamRecordQueueEntry;
import org.apache.flink.streaming.api.operators.async.queue.UnorderedStreamElementQueue;
import org.apache.flink.streaming.api.operators.async.queue.WatermarkQueueEntry;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Answers commands, one a line, with the queues of Flink 1.9: "new ordered 3", "record 7", "watermark 8", "complete 7 2"
 * (with that many results), "fail 7", "run" (one callback of the executor), "peek", "poll", "values", "size". Nothing
 * blocks: "peek" and "poll" say "none" where Java would wait. Sets are replaced by such as keep their order.
 */
public final class LegacyQueues {
    private static final ArrayDeque<Runnable> CALLBACKS = new ArrayDeque<>();
    private static final Map<Long, StreamRecordQueueEntry<Object>> RECORDS = new HashMap<>();
    private static StreamElementQueue queue;
    private static String failure = "";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.append(answer(line.split(" "))).append('\n');
        }
        System.out.print(out);
        System.exit(0);
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "new":
                return create(words[1], Integer.parseInt(words[2]));
            case "record":
                StreamRecordQueueEntry<Object> entry =
                    new StreamRecordQueueEntry<>(new StreamRecord<>(Long.valueOf(words[1]), 1L));
                RECORDS.put(Long.valueOf(words[1]), entry);
                return "" + queue.tryPut(entry);
            case "watermark":
                boolean put = queue.tryPut(new WatermarkQueueEntry(new Watermark(Long.parseLong(words[1]))));
                keepOrder();
                return "" + put;
            case "complete":
                RECORDS.get(Long.valueOf(words[1])).complete(
                    new ArrayList<>(Collections.nCopies(Integer.parseInt(words[2]), (Object) "r")));
                return "" + CALLBACKS.size();
            case "fail":
                RECORDS.get(Long.valueOf(words[1])).completeExceptionally(new RuntimeException("broken"));
                return "" + CALLBACKS.size();
            case "run":
                Runnable callback = CALLBACKS.poll();
                if (callback != null) {
                    callback.run();
                }
                return CALLBACKS.size() + failure;
            case "peek":
                return hasCompleted() ? told(queue.peekBlockingly()) : "none";
            case "poll":
                return hasCompleted() ? told(queue.poll()) : "none";
            case "values":
                List<String> told = new ArrayList<>();
                for (StreamElementQueueEntry<?> each : queue.values()) {
                    told.add(name(each.getStreamElement()));
                }
                return String.join(",", told);
            case "size":
                return queue.size() + " " + queue.isEmpty();
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String create(String kind, int capacity) throws Exception {
        CALLBACKS.clear();
        RECORDS.clear();
        failure = "";
        Executor executor = CALLBACKS::add;
        OperatorActions actions = error -> failure = " failed";
        queue = kind.equals("ordered")
            ? new OrderedStreamElementQueue(capacity, executor, actions)
            : new UnorderedStreamElementQueue(capacity, executor, actions);
        if (!kind.equals("ordered")) {
            Set<Object> first = new LinkedHashSet<>();
            field("firstSet").set(queue, first);
            field("lastSet").set(queue, first);
        }
        return "ok";
    }

    @SuppressWarnings("unchecked")
    private static void keepOrder() throws Exception {
        if (queue instanceof UnorderedStreamElementQueue) {
            Object last = field("lastSet").get(queue);
            if (!(last instanceof LinkedHashSet)) {
                Set<Object> ordered = new LinkedHashSet<>((Collection<Object>) last);
                ArrayDeque<Object> line = (ArrayDeque<Object>) field("uncompletedQueue").get(queue);
                if (line.peekLast() != last) {
                    throw new IllegalStateException("the last set is not the last in the line");
                }
                line.pollLast();
                line.offerLast(ordered);
                field("lastSet").set(queue, ordered);
            }
        }
    }

    private static boolean hasCompleted() throws Exception {
        if (queue instanceof UnorderedStreamElementQueue) {
            return !((ArrayDeque<?>) field("completedQueue").get(queue)).isEmpty();
        }
        StreamElementQueueEntry<?> head = (StreamElementQueueEntry<?>) ((ArrayDeque<?>) field("queue").get(queue)).peek();
        return head != null && head.isDone();
    }

    private static Field field(String name) throws Exception {
        Field field = queue.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static String told(AsyncResult result) {
        String name = name(((StreamElementQueueEntry<?>) result).getStreamElement());
        if (result.isWatermark()) {
            return name;
        }
        try {
            Collection<?> results = ((AsyncCollectionResult<?>) result).get();
            return name + " " + results.size();
        } catch (Exception error) {
            return name + " failed";
        }
    }

    private static String name(StreamElement element) {
        return element.isWatermark() ? "w" + element.asWatermark().getTimestamp() : "r" + element.asRecord().getValue();
    }
}

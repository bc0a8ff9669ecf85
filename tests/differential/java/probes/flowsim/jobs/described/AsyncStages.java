package flowsim.jobs.described;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.async.AsyncRetryStrategy;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;
import org.apache.flink.streaming.util.retryable.RetryPredicates;
import org.apache.flink.util.Collector;

/** One function behind another, asynchronous ones among them, as {@code described_async.py} describes them. */
final class AsyncStages {
    private AsyncStages() {}

    static DataStream<?> of(Streams streams, JsonNode given) {
        DataStream<?> stream = streams.input(0);
        int number = 0;
        for (JsonNode stage : given.get("stages")) {
            stream = behind(stream, stage, number++, given);
        }
        return stream;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static DataStream<?> behind(DataStream<?> any, JsonNode stage, int number, JsonNode given) {
        DataStream<Tuple4<Integer, String, Long, long[]>> stream =
                (DataStream<Tuple4<Integer, String, Long, long[]>>) any;
        SingleOutputStreamOperator<?> made;
        switch (stage.get("kind").asText()) {
            case "key_by":
                // The end of a chain: it sees to the clock of its task.
                DataStream<Tuple4<Integer, String, Long, long[]>> ended = stream;
                if (number > 0 && given.get("manual_time").asBoolean()) {
                    ended =
                            stream.transform("end", Event.TYPE, new Probe<>(null, true))
                                    .setParallelism(DescribedJob.parallelism(given));
                }
                return ended.keyBy((KeySelector) Event.key(given), (TypeInformation) Event.keyType(given));
            case "async":
                made = asynchronous(stream, stage, number, given);
                break;
            case "flat_map":
                int copies = stage.get("copies").asInt();
                made =
                        stream.<Tuple4<Integer, String, Long, long[]>>flatMap(
                                        (event, out) -> {
                                            for (int copy = 0; copy < copies; copy++) {
                                                out.collect(
                                                        Tuple4.of(event.f0 + 1000 * copy, event.f1, event.f2, event.f3));
                                            }
                                        })
                                .returns(Event.TYPE);
                break;
            case "timers":
                made =
                        ((KeyedStream<Tuple4<Integer, String, Long, long[]>, Object>) any)
                                .process(new EventTimers(), Event.TYPE);
                break;
            case "window":
                made =
                        ((KeyedStream<Tuple4<Integer, String, Long, long[]>, Object>) any)
                                .window(TumblingEventTimeWindows.of(DescribedJob.millis(stage.get("size_ms"))))
                                .process(new Contents(), Types.STRING);
                break;
            default:
                throw new IllegalArgumentException(stage.toString());
        }
        return made.setParallelism(DescribedJob.parallelism(given));
    }

    private static SingleOutputStreamOperator<?> asynchronous(
            DataStream<Tuple4<Integer, String, Long, long[]>> stream, JsonNode stage, int number, JsonNode given) {
        ScriptedCalls function = new ScriptedCalls(stage, number, given.get("manual_time").asBoolean());
        boolean isOrdered = stage.get("mode").asText().equals("ordered");
        long timeout = stage.get("timeout_ms").asLong();
        int capacity = stage.get("capacity").asInt();
        TimeUnit unit = TimeUnit.MILLISECONDS;
        SingleOutputStreamOperator<Tuple4<Integer, String, Long, long[]>> made;
        if (stage.get("retry").isNull()) {
            made =
                    isOrdered
                            ? AsyncDataStream.orderedWait(stream, function, timeout, unit, capacity)
                            : AsyncDataStream.unorderedWait(stream, function, timeout, unit, capacity);
        } else {
            AsyncRetryStrategy<Tuple4<Integer, String, Long, long[]>> strategy = strategy(stage.get("retry"));
            made =
                    isOrdered
                            ? AsyncDataStream.orderedWaitWithRetry(stream, function, timeout, unit, capacity, strategy)
                            : AsyncDataStream.unorderedWaitWithRetry(
                                    stream, function, timeout, unit, capacity, strategy);
        }
        return made.returns(Event.TYPE);
    }

    private static AsyncRetryStrategy<Tuple4<Integer, String, Long, long[]>> strategy(JsonNode retry) {
        int attempts = retry.get("max_attempts").asInt();
        Predicate<Throwable> onError = retry.get("exception").asBoolean() ? RetryPredicates.HAS_EXCEPTION_PREDICATE : null;
        if (retry.get("kind").asText().equals("fixed")) {
            AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<Tuple4<Integer, String, Long, long[]>> fixed =
                    new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<>(attempts, retry.get("delay_ms").asLong());
            if (retry.get("result").asBoolean()) {
                fixed.ifResult(new IsEmpty());
            }
            return (onError == null ? fixed : fixed.ifException(onError)).build();
        }
        AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<Tuple4<Integer, String, Long, long[]>> growing =
                new AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<>(
                        attempts,
                        retry.get("initial_ms").asLong(),
                        retry.get("max_ms").asLong(),
                        retry.get("multiplier").asDouble());
        if (retry.get("result").asBoolean()) {
            growing.ifResult(new IsEmpty());
        }
        return (onError == null ? growing : growing.ifException(onError)).build();
    }

    private static final class IsEmpty
            implements Predicate<Collection<Tuple4<Integer, String, Long, long[]>>>, Serializable {
        @Override
        public boolean test(Collection<Tuple4<Integer, String, Long, long[]>> results) {
            return results.isEmpty();
        }
    }

    /** Timers as ordered; a record for each that fires. */
    private static final class EventTimers
            extends KeyedProcessFunction<
                    Object, Tuple4<Integer, String, Long, long[]>, Tuple4<Integer, String, Long, long[]>> {
        @Override
        public void processElement(
                Tuple4<Integer, String, Long, long[]> event,
                Context context,
                Collector<Tuple4<Integer, String, Long, long[]>> out) {
            Timers.obey(event.f3, context.timerService());
            out.collect(event);
        }

        @Override
        public void onTimer(
                long timestamp, OnTimerContext context, Collector<Tuple4<Integer, String, Long, long[]>> out) {
            int number = 20_000 + (int) Math.floorMod(timestamp, 1000L);
            String key = context.getCurrentKey().toString();
            String text = key.startsWith("k") ? key : "k" + key;
            out.collect(Tuple4.of(number, text, timestamp, new long[0]));
        }
    }

    private static final class Contents
            extends ProcessWindowFunction<Tuple4<Integer, String, Long, long[]>, String, Object, TimeWindow> {
        @Override
        public void process(
                Object key,
                Context context,
                Iterable<Tuple4<Integer, String, Long, long[]>> elements,
                Collector<String> out) {
            List<Object> numbers = new ArrayList<>();
            for (Tuple4<Integer, String, Long, long[]> element : elements) {
                numbers.add(element.f0);
                numbers.add(element.f2);
            }
            out.collect(Event.text(key, context.window().getStart(), numbers, context.currentWatermark()));
        }
    }
}

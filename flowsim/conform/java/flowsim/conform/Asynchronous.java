package flowsim.conform;

import java.io.Serializable;
import java.util.Collection;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.async.AsyncRetryStrategy;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;

/** Async operators; their calls are answered in virtual time. */
final class Asynchronous {
    private Asynchronous() {}

    static SingleOutputStreamOperator<Long> of(DataStream<Long> stream, JsonNode given, UserFunction function) {
        Calls calls = new Calls(function);
        boolean isOrdered = given.get("mode").asText().equals("ordered");
        long timeout = given.get("timeout_ms").asLong();
        int capacity = given.get("capacity").asInt();
        TimeUnit unit = TimeUnit.MILLISECONDS;
        if (!given.hasNonNull("retry")) {
            return isOrdered
                    ? AsyncDataStream.orderedWait(stream, calls, timeout, unit, capacity)
                    : AsyncDataStream.unorderedWait(stream, calls, timeout, unit, capacity);
        }
        AsyncRetryStrategy<Long> retry = retry(given.get("retry"));
        return isOrdered
                ? AsyncDataStream.orderedWaitWithRetry(stream, calls, timeout, unit, capacity, retry)
                : AsyncDataStream.unorderedWaitWithRetry(stream, calls, timeout, unit, capacity, retry);
    }

    private static AsyncRetryStrategy<Long> retry(JsonNode given) {
        int attempts = given.get("max_attempts").asInt();
        OnResults results = given.hasNonNull("result_predicate") ? new OnResults(given.get("result_predicate").asLong()) : null;
        OnError error = given.hasNonNull("exception_predicate") ? new OnError(given.get("exception_predicate").asLong()) : null;
        if (given.get("kind").asText().equals("fixed")) {
            AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<Long> fixed =
                    new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<>(attempts, given.get("delay_ms").asLong());
            if (results != null) {
                fixed.ifResult(results);
            }
            return (error == null ? fixed : fixed.ifException(error)).build();
        }
        AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<Long> growing =
                new AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<>(
                        attempts,
                        given.get("initial_ms").asLong(),
                        given.get("max_ms").asLong(),
                        given.get("multiplier").asDouble());
        if (results != null) {
            growing.ifResult(results);
        }
        return (error == null ? growing : growing.ifException(error)).build();
    }

    private static final class OnResults implements Predicate<Collection<Long>>, Serializable {
        private final long object;

        OnResults(long object) {
            this.object = object;
        }

        @Override
        public boolean test(Collection<Long> results) {
            return Bridge.call(new Host() {}, object, "result_predicate", 0, 0, Bridge.text(results)).equals("true");
        }
    }

    private static final class OnError implements Predicate<Throwable>, Serializable {
        private final long object;

        OnError(long object) {
            this.object = object;
        }

        @Override
        public boolean test(Throwable error) {
            long number = error instanceof PythonError ? ((PythonError) error).number() : 0;
            String timeout = error instanceof TimeoutException ? "timeout" : "";
            return Bridge.call(new Host() {}, object, "exception_predicate", number, 0, timeout).equals("true");
        }
    }

    private static final class Calls extends RichAsyncFunction<Long, Long> {
        private final UserFunction function;
        private transient Map<ResultFuture<?>, Integer> attempts;

        Calls(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            attempts = new WeakHashMap<>();
            function.open(getRuntimeContext(), new Host() {});
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void asyncInvoke(Long value, ResultFuture<Long> future) {
            int attempt = attempts.merge(future, 1, Integer::sum);
            function.call(new Host() {}, "async_invoke", value, Bridge.keep(future), String.valueOf(attempt));
        }

        @Override
        public void timeout(Long value, ResultFuture<Long> future) {
            function.call(new Host() {}, "timeout", value, Bridge.keep(future), "1");
        }
    }
}

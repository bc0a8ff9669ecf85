package flowsim.conform;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.functions.RichReduceFunction;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.co.CoProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.co.RichCoFlatMapFunction;
import org.apache.flink.streaming.api.functions.co.RichCoMapFunction;
import org.apache.flink.util.Collector;

/** The functions of operators without windows: each calls the object of its subtask in Python. */
final class Functions {
    private Functions() {}

    static final class Map extends RichMapFunction<Long, Long> {
        private final UserFunction function;

        Map(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public Long map(Long value) {
            return Long.valueOf(function.call(new OfRuntime(getRuntimeContext()), "map", value, null, ""));
        }
    }

    static final class Filter extends RichFilterFunction<Long> {
        private final UserFunction function;

        Filter(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public boolean filter(Long value) {
            return function.call(new OfRuntime(getRuntimeContext()), "filter", value, null, "").equals("true");
        }
    }

    static final class FlatMap extends RichFlatMapFunction<Long, Long> {
        private final UserFunction function;

        FlatMap(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void flatMap(Long value, Collector<Long> out) {
            function.emit(function.call(new OfRuntime(getRuntimeContext()), "flat_map", value, null, ""), out, null);
        }
    }

    static final class Reduce extends RichReduceFunction<Long> {
        private final UserFunction function;

        Reduce(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public Long reduce(Long left, Long right) {
            return Long.valueOf(function.call(new OfRuntime(getRuntimeContext()), "reduce", left, right, ""));
        }
    }

    static final class CoMap extends RichCoMapFunction<Long, Long, Long> {
        private final UserFunction function;

        CoMap(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public Long map1(Long value) {
            return Long.valueOf(function.call(new OfRuntime(getRuntimeContext()), "map1", value, null, ""));
        }

        @Override
        public Long map2(Long value) {
            return Long.valueOf(function.call(new OfRuntime(getRuntimeContext()), "map2", value, null, ""));
        }
    }

    static final class CoFlatMap extends RichCoFlatMapFunction<Long, Long, Long> {
        private final UserFunction function;

        CoFlatMap(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void flatMap1(Long value, Collector<Long> out) {
            function.emit(function.call(new OfRuntime(getRuntimeContext()), "flat_map1", value, null, ""), out, null);
        }

        @Override
        public void flatMap2(Long value, Collector<Long> out) {
            function.emit(function.call(new OfRuntime(getRuntimeContext()), "flat_map2", value, null, ""), out, null);
        }
    }

    static final class Process extends ProcessFunction<Long, Long> {
        private final UserFunction function;

        Process(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void processElement(Long value, Context context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            function.emit(
                    function.call(host, "process_element", value, context.timestamp(), ""), out, context::output);
        }
    }

    static final class KeyedProcess extends KeyedProcessFunction<Key, Long, Long> {
        private final UserFunction function;

        KeyedProcess(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void processElement(Long value, Context context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            String key = context.getCurrentKey().text;
            function.emit(
                    function.call(host, "process_element", value, context.timestamp(), key), out, context::output);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            String more = context.timeDomain().name() + "," + context.getCurrentKey().text;
            function.emit(function.call(host, "on_timer", 0, timestamp, more), out, context::output);
        }
    }

    static final class CoProcess extends CoProcessFunction<Long, Long, Long> {
        private final UserFunction function;

        CoProcess(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void processElement1(Long value, Context context, Collector<Long> out) {
            process("process_element1", value, context, out);
        }

        @Override
        public void processElement2(Long value, Context context, Collector<Long> out) {
            process("process_element2", value, context, out);
        }

        private void process(String method, Long value, Context context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            function.emit(function.call(host, method, value, context.timestamp(), ""), out, context::output);
        }
    }

    static final class KeyedCoProcess extends KeyedCoProcessFunction<Key, Long, Long, Long> {
        private final UserFunction function;

        KeyedCoProcess(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void processElement1(Long value, Context context, Collector<Long> out) {
            process("process_element1", value, context, out);
        }

        @Override
        public void processElement2(Long value, Context context, Collector<Long> out) {
            process("process_element2", value, context, out);
        }

        private void process(String method, Long value, Context context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            String key = context.getCurrentKey().text;
            function.emit(function.call(host, method, value, context.timestamp(), key), out, context::output);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<Long> out) {
            Host host = new Timed(getRuntimeContext(), context.timerService());
            String more = context.timeDomain().name() + "," + context.getCurrentKey().text;
            function.emit(function.call(host, "on_timer", 0, timestamp, more), out, context::output);
        }
    }

    static final class Join extends ProcessJoinFunction<Long, Long, Long> {
        private final UserFunction function;

        Join(UserFunction function) {
            this.function = function;
        }

        @Override
        public void open(OpenContext context) {
            function.open(getRuntimeContext(), new OfRuntime(getRuntimeContext()));
        }

        @Override
        public void close() {
            function.close();
        }

        @Override
        public void processElement(Long left, Long right, Context context, Collector<Long> out) {
            String more = right + "," + context.getLeftTimestamp() + "," + context.getRightTimestamp();
            Host host = new OfRuntime(getRuntimeContext());
            function.emit(
                    function.call(host, "process_element", left, context.getTimestamp(), more), out, context::output);
        }
    }

    /** The keyed states of a function's context. */
    static class OfRuntime implements Host {
        private final RuntimeContext context;

        OfRuntime(RuntimeContext context) {
            this.context = context;
        }

        @Override
        public KeyedStateStore states(String scope) {
            return new RuntimeStates(context);
        }
    }

    /** With timers, too. */
    static class Timed extends OfRuntime {
        private final TimerService timers;

        Timed(RuntimeContext context, TimerService timers) {
            super(context);
            this.timers = timers;
        }

        @Override
        public TimerService timers() {
            return timers;
        }
    }
}

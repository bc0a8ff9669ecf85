package flowsim.conform;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** Flink's strategies; a generator that is none of its own calls one in Python. */
final class Watermarks {
    private Watermarks() {}

    static WatermarkStrategy<Long> strategy(JsonNode given) {
        WatermarkStrategy<Long> strategy;
        switch (given.get("kind").asText()) {
            case "none":
                strategy = WatermarkStrategy.noWatermarks();
                break;
            case "bounded":
                strategy = WatermarkStrategy.forBoundedOutOfOrderness(Duration.ofMillis(given.get("bound_ms").asLong()));
                break;
            case "monotonous":
                strategy = WatermarkStrategy.forMonotonousTimestamps();
                break;
            default:
                long factory = given.get("generator").asLong();
                strategy = WatermarkStrategy.forGenerator(context -> new Own(factory));
        }
        if (given.hasNonNull("assigner")) {
            long assigner = given.get("assigner").asLong();
            strategy = strategy.withTimestampAssigner(context -> new Assigner(assigner)::extract);
        }
        if (given.hasNonNull("idle_ms")) {
            strategy = strategy.withIdleness(Duration.ofMillis(given.get("idle_ms").asLong()));
        }
        if (given.hasNonNull("group")) {
            strategy =
                    strategy.withWatermarkAlignment(
                            given.get("group").asText(),
                            Duration.ofMillis(given.get("max_drift_ms").asLong()),
                            Duration.ofMillis(given.get("interval_ms").asLong()));
        }
        return strategy;
    }

    private static final class Assigner {
        private final long factory;
        private long object;

        Assigner(long factory) {
            this.factory = factory;
        }

        long extract(Long value, long timestamp) {
            if (object == 0) {
                object = Long.parseLong(Bridge.call(new Host() {}, factory, "open", 0, 0, ""));
            }
            return Long.parseLong(Bridge.call(new Host() {}, object, "extract_timestamp", value, timestamp, ""));
        }
    }

    /** Each call answers what to emit: {@code w} and a watermark, {@code i} idle, {@code a} active. */
    private static final class Own implements WatermarkGenerator<Long> {
        private final long object;

        Own(long factory) {
            object = Long.parseLong(Bridge.call(new Host() {}, factory, "open", 0, 0, ""));
        }

        @Override
        public void onEvent(Long value, long timestamp, WatermarkOutput output) {
            emit(Bridge.call(new Host() {}, object, "on_event", value, timestamp, ""), output);
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            emit(Bridge.call(new Host() {}, object, "on_periodic_emit", 0, 0, ""), output);
        }

        private static void emit(String orders, WatermarkOutput output) {
            for (String order : orders.isEmpty() ? new String[0] : orders.split(",")) {
                switch (order.charAt(0)) {
                    case 'w':
                        output.emitWatermark(new Watermark(Long.parseLong(order.substring(1))));
                        break;
                    case 'i':
                        output.markIdle();
                        break;
                    default:
                        output.markActive();
                }
            }
        }
    }
}

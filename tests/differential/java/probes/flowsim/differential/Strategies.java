package flowsim.differential;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;

/** Strategies described by a kind and a few numbers; a negative one asks for nothing. */
public final class Strategies {
    private Strategies() {}

    /** Some timestamps are watermarks too, which may go back; others make the output idle or active. */
    private static final class Punctuated implements WatermarkGenerator<Object> {
        @Override
        public void onEvent(Object event, long timestamp, WatermarkOutput output) {
            if (timestamp % 3 == 0) {
                output.emitWatermark(new Watermark(timestamp));
            } else if (timestamp % 7 == 0) {
                output.markIdle();
            } else if (timestamp % 11 == 0) {
                output.markActive();
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    public static WatermarkStrategy<Object> of(
            String kind, long bound, long idleMillis, long driftMillis, long intervalMillis) {
        WatermarkStrategy<Object> strategy;
        switch (kind) {
            case "bounded":
                strategy = WatermarkStrategy.forBoundedOutOfOrderness(Duration.ofMillis(bound));
                break;
            case "monotonous":
                strategy = WatermarkStrategy.forMonotonousTimestamps();
                break;
            case "punctuated":
                strategy = WatermarkStrategy.forGenerator(context -> new Punctuated());
                break;
            default:
                strategy = WatermarkStrategy.noWatermarks();
        }
        strategy = strategy.withTimestampAssigner((event, timestamp) -> timestamp);
        if (idleMillis >= 0) {
            strategy = strategy.withIdleness(Duration.ofMillis(idleMillis));
        }
        if (driftMillis >= 0) {
            strategy =
                    strategy.withWatermarkAlignment(
                            "group", Duration.ofMillis(driftMillis), Duration.ofMillis(intervalMillis));
        }
        return strategy;
    }
}

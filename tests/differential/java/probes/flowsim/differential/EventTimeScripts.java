package flowsim.differential;

import java.time.Duration;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.AscendingTimestampsWatermarks;
import org.apache.flink.api.common.eventtime.BoundedOutOfOrdernessWatermarks;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarksWithIdleness;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.watermarkstatus.StatusWatermarkValve;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.clock.ManualClock;

/** Whole scripts for the small classes of event time, one line per command; answers what each command made them emit. */
public final class EventTimeScripts {
    private EventTimeScripts() {}

    /** Commands {@code watermark <channel> <timestamp>} and {@code status <channel> <ACTIVE or IDLE>}. */
    public static String valve(int channels, String script) throws Exception {
        EventTimeLog log = new EventTimeLog();
        StatusWatermarkValve valve = new StatusWatermarkValve(channels);
        StringJoiner answers = new StringJoiner("\n");
        for (String command : script.split("\n")) {
            String[] words = command.split(" ");
            int channel = Integer.parseInt(words[1]);
            if (words[0].equals("watermark")) {
                valve.inputWatermark(new Watermark(Long.parseLong(words[2])), channel, log);
            } else {
                valve.inputWatermarkStatus(
                        words[2].equals("IDLE") ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE, channel, log);
            }
            answers.add(log.take());
        }
        return answers.toString();
    }

    /**
     * Commands {@code event <timestamp>}, {@code periodic} and {@code time <nanoseconds>}. {@code bound} and {@code idle} are
     * in ms; -1 stands for ascending timestamps, and for a stream that never gets idle.
     */
    public static String generator(long bound, long idle, long startNanos, String script) {
        EventTimeLog log = new EventTimeLog();
        ManualClock clock = new ManualClock(startNanos);
        WatermarkGenerator<Object> generator =
                bound < 0
                        ? new AscendingTimestampsWatermarks<>()
                        : new BoundedOutOfOrdernessWatermarks<>(Duration.ofMillis(bound));
        if (idle >= 0) {
            generator = new WatermarksWithIdleness<>(generator, Duration.ofMillis(idle), clock);
        }
        StringJoiner answers = new StringJoiner("\n");
        for (String command : script.split("\n")) {
            String[] words = command.split(" ");
            switch (words[0]) {
                case "event":
                    generator.onEvent("x", Long.parseLong(words[1]), log);
                    break;
                case "periodic":
                    generator.onPeriodicEmit(log);
                    break;
                default:
                    clock.advanceTime(Long.parseLong(words[1]), TimeUnit.NANOSECONDS);
            }
            answers.add(log.take());
        }
        return answers.toString();
    }
}

package flowsim.differential;

import java.nio.ByteBuffer;
import java.util.StringJoiner;

/**
 * Drives real objects: a command is a name and whole numbers; its answer is its result, or {@code !Class} of what it threw,
 * and then everything that can be seen.
 */
public abstract class Driver {
    public final String run(String command) {
        String[] words = command.split(" ");
        int[] n = new int[words.length - 1];
        for (int i = 0; i < n.length; i++) {
            n[i] = Integer.parseInt(words[i + 1]);
        }
        begin();
        String result;
        try {
            result = execute(words[0], n);
        } catch (Exception e) {
            result = "!" + e.getClass().getSimpleName();
        }
        return result + " " + state();
    }

    /** The answers to several commands, one per line of both. */
    public final String runAll(String commands) {
        StringJoiner answers = new StringJoiner("\n");
        for (String command : commands.split("\n")) {
            answers.add(run(command));
        }
        return answers.toString();
    }

    /** Forgets what was told before. */
    public void begin() {}

    /** Does one command and answers its result, "-" for none. */
    public abstract String execute(String name, int[] n) throws Exception;

    public abstract String state();

    /** So many bytes that count on from {@code first}. */
    public static ByteBuffer counting(int first, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (first + i);
        }
        return ByteBuffer.wrap(bytes);
    }
}

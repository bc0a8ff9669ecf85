package flowsim.conform;

import java.io.Serializable;

/**
 * A key as text, with the hash code that Java's value has. Types of the text: {@code S} String, {@code I} Integer, {@code J}
 * Long, {@code Z} Boolean, {@code D} Double; {@code X} any other, whose hash code precedes it.
 */
public final class Key implements Serializable, Comparable<Key> {
    public String text;
    public int hash;

    public Key() {}

    static Key of(String text) {
        Key key = new Key();
        key.text = text;
        String value = text.substring(1);
        switch (text.charAt(0)) {
            case 'S':
                key.hash = value.hashCode();
                break;
            case 'I':
                key.hash = Integer.valueOf(value).hashCode();
                break;
            case 'J':
                key.hash = Long.valueOf(value).hashCode();
                break;
            case 'Z':
                key.hash = Boolean.valueOf(value).hashCode();
                break;
            case 'D':
                key.hash = Double.valueOf(value).hashCode();
                break;
            default:
                key.hash = Integer.parseInt(value.substring(0, value.indexOf(':')));
        }
        return key;
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key && ((Key) other).text.equals(text);
    }

    @Override
    public int compareTo(Key other) {
        return text.compareTo(other.text);
    }

    @Override
    public String toString() {
        return text;
    }
}
